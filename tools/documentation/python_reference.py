"""The reference for the Python interface: a section for each public name, from its docstring."""

from __future__ import annotations

import inspect

import aqmlab

_HEAD = """# The Python interface

`import aqmlab` gives these names. Results hold [polars](https://pola.rs) frames, whose columns
[Results](results.md) defines. [Scenarios](scenarios.md#from-python) shows scenarios as Python
values.

"""


def page() -> str:
    """The reference as Markdown, with functions before classes."""
    names = [name for name in aqmlab.__all__ if not name.startswith("__")]
    functions = [name for name in names if inspect.isfunction(getattr(aqmlab, name))]
    classes = [name for name in names if name not in functions]
    return _HEAD + "\n".join([*map(_function, functions), *map(_class, classes)])


def _function(name: str) -> str:
    return _documented(name, "autofunction", "")


def _class(name: str) -> str:
    options = {
        "members": "",
        "inherited-members": "BaseModel, LabError, tuple",
        "exclude-members": "add_note, memo, model_config, with_traceback, written_schema, SCHEMA",
    }
    return _documented(name, "autoclass", "".join(f"   :{k}: {v}\n" for k, v in options.items()))


def _documented(name: str, directive: str, options: str) -> str:
    return f"## `{name}`\n\n```{{eval-rst}}\n.. {directive}:: aqmlab.{name}\n{options}```\n"

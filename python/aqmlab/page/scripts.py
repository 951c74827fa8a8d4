"""The scripts of the page: JavaScript modules, joined into one script.

A file that is opened without a server cannot import modules. The page of one file therefore holds
all modules in one script, each as a function that returns its exports. A module imports only other
modules of the page, without cycles, in import statements of one form. It exports only declarations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)


def joined(modules: Mapping[str, str], first: str) -> str:
    """One script with the module `first` and all modules that it needs.

    A module follows the modules that it imports.

    `modules` holds texts by name. Raises `ValueError` for a module that cannot be joined.
    """
    order: list[str] = []
    _collect(modules, first, order, ())
    return "\n".join(_function(name, modules[name]) for name in order)


def _collect(
    modules: Mapping[str, str], name: str, order: list[str], above: tuple[str, ...]
) -> None:
    if name in above:
        raise ValueError(f"{name}.js imports itself through {', '.join(above)}")
    if name in order:
        return
    for _, needed in _IMPORT.findall(modules[name]):
        _collect(modules, needed, order, (*above, name))
    order.append(name)


def _function(name: str, text: str) -> str:
    """The JavaScript of a module as a function call, which returns an object with the exports."""
    exports = ", ".join(_EXPORT.findall(text))
    plain = _EXPORT.sub("", _IMPORT.sub(r"const {\1} = module_\2;\n", text))
    if re.search(r"^(import|export)\b", plain, re.MULTILINE):
        raise ValueError(f"{name}.js imports or exports in a form that cannot be joined")
    return f"const module_{name} = (() => {{\n{plain}return {{ {exports} }};\n}})();"

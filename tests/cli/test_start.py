"""The start of programs: slow modules are loaded only when they are needed."""

import os
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import aqmlab
import pytest
from aqmlab.cli.commands import COMMANDS
from aqmlab.cli.parameters.listing import TOPICS
from aqmlab.engines import registry
from aqmlab.engines.engine import load_runner
from aqmlab.validation.engines import PEERS

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
HEAVY = set(SETTINGS["flake8-tidy-imports"]["banned-module-level-imports"]) - {"fcntl", "resource"}
"""The slow and optional modules, which only functions may import.

`fcntl` and `resource` are quick. Only functions may import them, because Windows lacks them.
"""


def loaded(code: str) -> set[str]:
    """The modules that a new process has loaded after it ran `code`."""
    package = Path(aqmlab.__file__).parent.parent
    tail = "\nimport sys; print('|'.join(sys.modules), file=sys.stderr)"
    env = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run(
        [sys.executable, "-c", code + tail], env=env, capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split("|"))


def after(*arguments: str) -> set[str]:
    """The modules that the command line has loaded after it ran `arguments`."""
    return loaded(f"from aqmlab.cli import status_of; status_of({list(arguments)!r})")


def test_no_module_of_the_package_loads_a_heavy_one() -> None:
    names = [
        one.name
        for one in pkgutil.walk_packages(aqmlab.__path__, "aqmlab.")
        if not one.name.endswith("__main__")
    ]
    assert len(names) > 250
    code = f"import importlib\nfor name in {names!r}: importlib.import_module(name)"
    found = loaded(code)
    assert set(names) <= found
    assert not HEAVY & found


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["rnu"], ["run", "--sead"]])
def test_a_request_about_the_command_line_loads_no_command(arguments) -> None:
    found = after(*arguments)
    assert not {f"aqmlab.cli.{one.module}" for one in COMMANDS.values()} & found
    others = {"msgspec", "aqmlab._core", "aqmlab.api", "aqmlab.cli.completion"}
    assert not (others | HEAVY) & found
    parameters = {name for name in found if name.startswith("aqmlab.cli.parameters.")}
    own = {f"aqmlab.cli.parameters.{name}" for name in ("options", "run")}
    assert parameters == (own if arguments[0] == "run" else set())


def test_a_list_of_kinds_loads_no_study_and_no_engine() -> None:
    found = after("list", "disciplines")
    assert "aqmlab.cli.list_kinds" in found
    assert not {"aqmlab.studies", "aqmlab.engines.kernel.linux_kernel", *HEAVY} & found


def test_a_plan_loads_neither_the_reader_of_configs_nor_the_kernel_engine() -> None:
    scenario = str(ROOT / "examples" / "first.toml")
    found = loaded(f"from aqmlab.planning import planner; planner.load({scenario!r})")
    unneeded = {"aqmlab.planning.teacup", "aqmlab.engines.kernel.linux_kernel", *HEAVY}
    assert "aqmlab.planning.planner" in found and not unneeded & found


def test_a_worker_loads_no_registry_and_no_scenario() -> None:
    found = loaded("import aqmlab.campaign.worker")
    rooms = ("aqmlab.scenario", "aqmlab.planning", "aqmlab.results", "aqmlab.engines.registry")
    assert not {name for name in found if name.startswith(rooms)}
    assert not {"pydantic", *HEAVY} & found


def test_every_name_that_is_loaded_later_exists() -> None:
    for family in (COMMANDS, COMMANDS["kernel"].commands):
        for one in family.values():
            assert callable(resolve_name(f"aqmlab.cli.{one.module}:{one.function}"))
            if one.parameters is not None:
                resolve_name(f"aqmlab.cli.parameters.{one.module}:{one.parameters}")
    for name in TOPICS.values():
        assert callable(resolve_name(name))
    for entry in registry.ENGINES.values():
        for name in entry.options:
            assert registry.engine(name).name == name
            assert callable(load_runner(registry.engine(name).runner))
    for peer in PEERS.values():
        assert callable(load_runner(peer.runner))

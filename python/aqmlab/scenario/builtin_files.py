"""The TOML files in the folder `builtin` of a subpackage: scenarios or households."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from aqmlab.base.errors import ScenarioError


@dataclass(frozen=True, slots=True)
class BuiltinFiles:
    """The built-in files of the subpackage `room`. Messages call such a file by the word `noun`."""

    room: str
    noun: str

    def names(self) -> list[str]:
        """The names of the files without their ending, sorted."""
        folder = resources.files(self.room) / "builtin"
        return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))

    def text(self, name: str) -> str:
        """The text of a file, including comments; raises `ScenarioError` for an unknown name."""
        if name not in (known := self.names()):
            raise ScenarioError.unknown("", self.noun, name, known)
        return (resources.files(self.room) / "builtin" / f"{name}.toml").read_text("utf-8")

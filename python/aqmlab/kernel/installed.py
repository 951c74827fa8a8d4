"""What of the kernel engine is installed, and an engine made ready from it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.engines import Prepared, Say
from aqmlab.failures import DiskError, LabError
from aqmlab.kernel import abilities, agent, image, machine
from aqmlab.kernel.errors import APT_LINE, MissingError


def prepare(specs: Sequence[Mapping[str, Any]], say: Say) -> Prepared:
    """Everything that running `specs` needs, built and in the cache.

    Raises `MissingError` with what must be installed, before anything is started.
    """
    qemu = machine.find_qemu()
    _, release = image.find_kernel()
    _require_modules(release, abilities.modules(specs))
    program = agent.find(say)
    made = build_image(program)
    versions = {
        "kernel": made.release,
        "qemu": qemu_version(qemu),
        "agent": digest_of(program),
        # The machine itself is part of what made a result: its memory, clock and command line.
        "image": digest_of(made.kernel, made.initramfs, Path(machine.__file__)),
    }
    options = {
        "kernel": str(made.kernel),
        "release": made.release,
        "initramfs": str(made.initramfs),
    }
    return Prepared(versions, options)


def build_image(program: Path) -> image.Image:
    """The image that runs the agent `program`; made if it is not in the cache."""
    try:
        return image.build(program)
    except OSError as error:
        if not _is_below(error.filename, image.cache_dir()):
            raise MissingError(str(error), APT_LINE) from None
        problem = DiskError.of(error, image.cache_dir()).problem
        hint = "set XDG_CACHE_HOME to a folder that may be written to: it takes some 20 MB"
        raise MissingError(problem, hint) from None
    except subprocess.CalledProcessError as error:
        raise MissingError(f"`{' '.join(error.cmd)}` failed: it may be damaged", APT_LINE) from None


def _is_below(name: object, folder: Path) -> bool:
    """Whether a file's name is that of `folder`, something in it, or a folder around it."""
    path = Path(str(name))
    return path.is_relative_to(folder) or folder.is_relative_to(path)


def _require_modules(release: str, wanted: Mapping[str, str]) -> None:
    """Raises `MissingError` if the kernel lacks a module: a discipline, or a congestion control."""
    there = modules_of(release)
    for module, kind in wanted.items():
        if module not in there:
            problem = f"kernel {release} has no `{kind}`: there is no module {module}"
            raise MissingError(problem, f"install another kernel: {APT_LINE}")


def modules_of(release: str) -> set[str]:
    """The modules of a kernel, those that are built in among them."""
    folder = Path("/lib/modules") / release
    found = set()
    for name in ("modules.dep", "modules.builtin"):
        path = folder / name
        for line in path.read_text().splitlines() if path.exists() else ():
            file = Path(line.partition(":")[0]).name
            found.add(file.partition(".")[0].replace("-", "_"))
    return found


def qemu_version(program: str) -> str:
    """QEMU's version, with the distribution's, such as "7.2.22 (Debian 1:7.2+dfsg-7)"."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (.+)", done.stdout)
    if found is None:
        problem = f"{program}: does not say its version: {done.stderr.strip()[:200]}"
        raise MissingError(problem, f"install it again: {APT_LINE}")
    return found[1].strip()


def digest_of(*paths: Path) -> str:
    """Sixteen hexadecimal digits that stand for files."""
    folded = hashlib.sha256()
    for path in paths:
        folded.update(path.read_bytes())
    return folded.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Item:
    """Something that the kernel engine needs: what there is, or what is wrong."""

    name: str
    found: str = ""
    problem: str = ""
    hint: str = ""


def status() -> list[Item]:
    """Everything that the kernel engine needs; nothing is built."""
    return [
        _item("QEMU", lambda: _with_version(machine.find_qemu())),
        _item("kernel", lambda: str(image.find_kernel()[0])),
        *(_item(f"`{tool}`", lambda tool=tool: _tool(tool)) for tool in image.TOOLS),
        _item("agent", agent.where),
        _item("cache", lambda: str(image.cache_dir())),
    ]


def _with_version(program: str) -> str:
    return f"{program} {qemu_version(program)}"


def _tool(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise MissingError(f"`{name}` is not installed", APT_LINE)
    return found


def _item(name: str, find: Any) -> Item:
    try:
        return Item(name, found=find())
    except LabError as error:
        return Item(name, problem=error.problem, hint=error.hint or "")

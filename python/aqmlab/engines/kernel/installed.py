"""Installed requirements of the kernel engine, and the preparation of the engine."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.base.failures import DiskError, LabError
from aqmlab.engines.engine import Prepared, Say
from aqmlab.engines.kernel import agent, image, kinds, machine
from aqmlab.engines.kernel.errors import APT_LINE, MissingError
from aqmlab.engines.kernel.options import QdiscSource
from aqmlab.engines.trial_spec import TrialSpec


def prepare(
    specs: Sequence[TrialSpec],
    say: Say,
    program: Path | None = None,
    qdisc_source: QdiscSource = "kernel",
) -> Prepared:
    """Builds everything that `specs` need and stores it in the cache.

    The machine runs the agent of this package, or `program`. Raises `MissingError` for missing
    requirements. A missing QEMU, kernel or module is found before the agent is built.
    """
    qemu = machine.find_qemu()
    kernel, release = image.find_kernel()
    _require_modules(release, kinds.modules(specs, qdisc_source))
    program = program or agent.find(say)
    made = build_image(program)
    if qdisc_source == "sim":
        image.gateway_files(release)
    versions = {
        "kernel": kernel_version(kernel, release),
        "qemu": qemu_version(qemu),
        "tools": tools_version(),
        "agent": digest_of(program),
        "machine": machine.digest(qemu),
        # This digest covers the contents of kernel, modules, agent and programs, not their names.
        "image": digest_of(made.kernel, made.initramfs),
    }
    options = {
        "kernel": str(made.kernel),
        "release": made.release,
        "initramfs": str(made.initramfs),
        "qdisc_source": qdisc_source,
    }
    return Prepared(versions, options)


def build_image(program: Path) -> image.Image:
    """Returns the image that runs the agent `program`, and builds it if it is not in the cache.

    Raises `MissingError` if the image cannot be built or stored.
    """
    try:
        return image.build(program)
    except OSError as error:
        if not _is_below(error.filename, image.cache_dir()):
            raise MissingError(str(error), APT_LINE) from None
        problem = DiskError.of(error, image.cache_dir()).problem
        hint = "set XDG_CACHE_HOME to a writable folder; the image takes about 20 MB"
        raise MissingError(problem, hint) from None
    except subprocess.CalledProcessError as error:
        raise MissingError(f"`{' '.join(error.cmd)}` failed: it may be damaged", APT_LINE) from None


def _is_below(name: object, folder: Path) -> bool:
    """Returns whether the path `name` is `folder`, below it or above it."""
    path = Path(str(name))
    return path.is_relative_to(folder) or folder.is_relative_to(path)


def _require_modules(release: str, wanted: Mapping[str, str]) -> None:
    """Raises `MissingError` if the kernel lacks the module of a discipline or a controller."""
    there = modules_of(release)
    for module, kind in wanted.items():
        if module not in there:
            problem = f"kernel {release} has no `{kind}`: there is no module {module}"
            raise MissingError(problem, f"install another kernel: {APT_LINE}")


def modules_of(release: str) -> set[str]:
    """The names of the modules of a kernel, including built-in modules."""
    folder = Path("/lib/modules") / release
    found = set()
    for name in ("modules.dep", "modules.builtin"):
        path = folder / name
        for line in path.read_text().splitlines() if path.exists() else ():
            file = Path(line.partition(":")[0]).name
            found.add(file.partition(".")[0].replace("-", "_"))
    return found


def qemu_version(program: str) -> str:
    """The versions of QEMU and of its package, such as "7.2.22 (Debian 1:7.2+dfsg-7)".

    Raises `MissingError` if `program` does not print them.
    """
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (.+)", done.stdout)
    if found is None:
        problem = f"{program}: does not print its version: {done.stderr.strip()[:200]}"
        raise MissingError(problem, f"install it again: {APT_LINE}")
    return found[1].strip()


def kernel_version(path: Path, release: str) -> str:
    """A kernel's release and build, such as "6.1.0-56-cloud-amd64 #1 SMP Debian 6.1.192-2".

    Updates of a distribution change the build, and often keep the release. The build is in the
    kernel's file (Documentation/arch/x86/boot.rst: `kernel_version`). For a file without this
    header, the text is the release alone.
    """
    with path.open("rb") as image_file:
        head = image_file.read(0x10000)
    if head[0x202:0x206] != b"HdrS":
        return release
    text = head[0x200 + int.from_bytes(head[0x20E:0x210], "little") :].partition(b"\0")[0]
    _, mark, build = text.decode(errors="replace").partition("#")
    return f"{release} {mark}{build}".strip()


def tools_version() -> str:
    """The versions of this system's programs and C library in the initramfs.

    Results depend on them, because they set up the network in virtual time.
    """
    asked = (
        (("ip", "-V"), r"iproute2-[\w.+~-]+"),
        (("ethtool", "--version"), r"ethtool version \S+"),
        (("ldd", "--version"), r"\((.+?)\)"),
    )
    return ", ".join(_said(words, pattern) for words, pattern in asked)


def _said(words: Sequence[str], pattern: str) -> str:
    """The text that `pattern` or its last group matches in a program's version output.

    If the program is missing or the version unknown, the text says so.
    """
    found = shutil.which(words[0], path=image.tools_path())
    if found is None:
        return f"no {words[0]}"
    done = subprocess.run([found, *words[1:]], capture_output=True, text=True, check=False)
    match = re.search(pattern, done.stdout + done.stderr)
    return match[match.lastindex or 0] if match else f"{words[0]} of unknown version"


def digest_of(*paths: Path) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the contents of files."""
    folded = hashlib.sha256()
    for path in paths:
        folded.update(path.read_bytes())
    return folded.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Item:
    """A requirement of the kernel engine: where it was found, or the problem and a hint."""

    name: str
    found: str = ""
    problem: str = ""
    hint: str = ""


def status() -> list[Item]:
    """Lists all requirements of the kernel engine, without building anything."""
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
    found = shutil.which(name, path=image.tools_path())
    if found is None:
        raise MissingError(f"`{name}` is not installed", APT_LINE)
    return found


def _item(name: str, find: Any) -> Item:
    try:
        return Item(name, found=find())
    except LabError as error:
        return Item(name, problem=error.problem, hint=error.hint or "")

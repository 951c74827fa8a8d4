"""The kernel, and an initramfs of installed files.

The initramfs holds the agent as its first process, and `ip`, `tc` and `ethtool` with their
libraries. It also holds the modules of queue disciplines and TCPs in a valid load order. The user's
cache keeps the initramfs and a few previous archives. The name of each depends on its contents.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aqmlab.base.files import cache_folder
from aqmlab.engines.kernel import cpio
from aqmlab.engines.kernel.errors import APT_LINE, MissingError

TOOLS = ("ip", "tc", "ethtool")
_KEPT = 4
_BUSY_S = 24 * 3600.0
"""The time in seconds for which an unused file stays, because a campaign may still need the file.
"""
_MADE = ("initramfs-*", "agent-*")
_BOOT = Path("/boot")
_PASTED = ("ifb", "act_mirred", "cls_matchall")
_DEVICES = ("veth", "cls_u32", "sch_ingress", "act_skbedit")
_DISCIPLINES = (
    "sch_htb", "sch_netem", "sch_prio", "sch_codel", "sch_fq_codel", "sch_pie", "sch_fq_pie",
    "sch_sfq", "sch_red", "sch_cake",
)  # fmt: skip
_CONTROLLERS = (
    "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "nv", "scalable",
    "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
_IN_IMAGE = (*_DEVICES, *_DISCIPLINES, *(f"tcp_{name}" for name in _CONTROLLERS))
"""The modules in the initramfs. The reference set depends on this tuple, because loading a module
takes virtual time. A further module belongs in `_ON_DEMAND`.
"""
_ON_DEMAND = ("tcp_lp",)
"""The modules that are only in the archives of trials that need them."""


@dataclass(frozen=True)
class Image:
    """The kernel of a machine with its release, and the initramfs."""

    kernel: Path
    release: str
    initramfs: Path


def cache_dir() -> Path:
    """The path of the cache folder for the agent, initramfs and other files of this engine."""
    return cache_folder() / "kernel"


def build(agent: Path) -> Image:
    """Returns the image that runs `agent`, and builds it if it is not in the cache."""
    kernel, release = find_kernel()
    entries = {
        "init": cpio.file(agent.read_bytes(), executable=True),
        # The first process uses the console as its standard streams. Its children read `null`.
        "dev/console": cpio.device(5, 1),
        "dev/null": cpio.device(1, 3),
    }
    for tool in TOOLS:
        entries |= _program(tool)
    entries |= _modules(release)
    data = cpio.archive(entries)
    key = hashlib.sha256(data + release.encode()).hexdigest()[:16]
    # The archive is not compressed, because emulated instructions cost more than disk space.
    path = cache_dir() / f"initramfs-{release}-{key}.cpio"
    if not path.exists():
        keep(path, data)
    note_use(path)
    return Image(kernel, release, path)


def keep(path: Path, data: bytes) -> None:
    """Writes a file of the cache atomically, and then calls `prune`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(data)
    Path(part.name).chmod(0o755)  # executable, because the agent also checks trials on this host
    Path(part.name).replace(path)
    prune(path.parent)


def note_use(path: Path) -> None:
    """Sets the time of last use of a cached file to now."""
    with contextlib.suppress(OSError):  # another user may own it
        os.utime(path)


def prune(folder: Path) -> None:
    """Removes cached files that have not been used for a day, except the last few of each kind."""
    with contextlib.suppress(OSError):  # another process prunes, or another user owns the folder
        for pattern in _MADE:
            used = sorted((path.stat().st_mtime, path) for path in folder.glob(pattern))
            for last, path in used[:-_KEPT]:
                if time.time() - last > _BUSY_S:
                    path.unlink()


def find_kernel() -> tuple[Path, str]:
    """The path and the release of an installed kernel that has modules.

    Readable kernels take precedence, then cloud kernels, then the newest release. Raises
    `MissingError` if there is no readable kernel.
    """
    found = []
    for path in _BOOT.glob("vmlinuz-*"):
        release = path.name.removeprefix("vmlinuz-")
        if (_module_dir(release) / "modules.dep").exists():
            cloud = "cloud" in release
            found.append((os.access(path, os.R_OK), cloud, _version(release), path, release))
    if not found:
        raise MissingError(f"there is no Linux kernel image in {_BOOT} with its modules", APT_LINE)
    readable, _, _, path, release = max(found)
    if not readable:
        # Only root can read Ubuntu's images. The next update would undo a plain chmod.
        hint = f"sudo dpkg-statoverride --update --add root root 0644 {path}"
        raise MissingError(f"{path}: only root can read it", hint)
    return path, release


def _module_dir(release: str) -> Path:
    return Path("/lib/modules") / release


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release))


def tools_path() -> str:
    """The search path for programs, including the folders that only root has on its path."""
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _program(name: str) -> dict[str, cpio.ArchiveEntry]:
    """The entries of a program in `bin/`, and of its libraries at their expected paths."""
    found = shutil.which(name, path=tools_path())
    if found is None:
        raise MissingError(f"`{name}` is not installed", APT_LINE)
    listing = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"(/\S+) \(0x", listing)
    entries = {f"bin/{name}": cpio.file(Path(found).read_bytes(), executable=True)}
    for library in libraries:
        entries[library.lstrip("/")] = cpio.file(Path(library).read_bytes(), executable=True)
    return entries


def gateway_files(release: str) -> dict[str, cpio.ArchiveEntry]:
    """The additional entries for a gateway with the simulator's disciplines.

    They are the module `tun` and its device.
    """
    entries = _module_files(release, ("tun",))
    return entries | {"dev/net/tun": cpio.device(10, 200)}


def pasted_files(release: str) -> dict[str, cpio.ArchiveEntry]:
    """The additional entries for `pasted`: modules, and the list of modules in load order."""
    entries = _module_files(release, _PASTED)
    return entries | {"aqmlab/paste-modules": _load_order(entries)}


def on_demand_files(release: str, wanted: Container[str]) -> dict[str, cpio.ArchiveEntry]:
    """The additional entries for a trial that needs modules which the initramfs lacks.

    They are the modules among `wanted`, and a list of all modules in load order. The list replaces
    the list in the initramfs.
    """
    further = [name for name in _ON_DEMAND if name in wanted]
    if not further:
        return {}
    entries = _module_files(release, further)
    everything = _module_files(release, (*_IN_IMAGE, *further))
    return entries | {"aqmlab/modules": _load_order(everything)}


def _modules(release: str) -> dict[str, cpio.ArchiveEntry]:
    """The entries of modules in `modules/`, and of the list of modules in load order."""
    entries = _module_files(release, _IN_IMAGE)
    return entries | {"aqmlab/modules": _load_order(entries)}


def _load_order(paths: Iterable[str]) -> cpio.ArchiveEntry:
    """The entry of a list of modules in load order."""
    return cpio.file("".join(f"/{path}\n" for path in paths).encode())


def _module_files(release: str, wanted: Sequence[str]) -> dict[str, cpio.ArchiveEntry]:
    """The archive entries of the modules `wanted`, and of the modules that these need.

    The entries are in a valid load order. A module that is built into the kernel has no entry, and
    neither has a module that the kernel lacks. Raises `MissingError` if the kernel lacks an
    indispensable module.
    """
    base = _module_dir(release)
    needs = {}
    for line in _listed(base / "modules.dep"):
        path, _, others = line.partition(":")
        needs[_name(path)] = (path, others.split())
    builtin = {_name(line) for line in _listed(base / "modules.builtin")}
    entries: dict[str, cpio.ArchiveEntry] = {}
    for name in wanted:
        if name in builtin:
            continue
        if name not in needs:
            if name in (*_DEVICES, "sch_htb", "sch_netem", "tun", *_PASTED):
                hint = f"install another kernel: {APT_LINE}"
                raise MissingError(f"kernel {release} has no module {name}", hint)
            continue
        own, needed = needs[name]
        # modules.dep lists dependencies in reverse load order.
        for each in [*reversed(needed), own]:
            inside = f"modules/{_name(each)}.ko"
            if inside not in entries:
                entries[inside] = cpio.file(_unpacked(base / each))
    return entries


def _listed(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError as error:
        problem = f"{path}: the modules of this kernel cannot be read: {error.strerror}"
        raise MissingError(problem, f"install the kernel again: {APT_LINE}") from None


def _name(path: str) -> str:
    return Path(path).name.split(".")[0].replace("-", "_")


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return _unpacked_by("zstd", path)
    if path.suffix != ".ko":
        hint = "modules may be plain, .xz, .gz or .zst"
        raise MissingError(f"{path}: the compression of this module is not supported", hint)
    return data


def _unpacked_by(program: str, path: Path) -> bytes:
    found = shutil.which(program)
    if found is None:
        hint = f"sudo apt-get install {program}"
        raise MissingError(f"`{program}`, which unpacks {path}, is not installed", hint)
    done = subprocess.run([found, "-dcq", str(path)], capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise MissingError(f"{path}: it cannot be unpacked: {said}", "install the kernel again")
    return done.stdout

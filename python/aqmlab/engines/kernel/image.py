"""The kernel, and the initramfs that is made from what is installed.

The initramfs holds the agent as its first process, `ip`, `tc` and `ethtool` with their
libraries, and the modules of queue disciplines and TCPs in an order in which they load. It is
kept in the user's cache under a name made from its contents, with the last few others.
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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aqmlab.base.files import cache_folder
from aqmlab.engines.kernel import cpio
from aqmlab.engines.kernel.errors import APT_LINE, MissingError

TOOLS = ("ip", "tc", "ethtool")
_KEPT = 4
_BUSY_S = 24 * 3600.0
"""What was used so lately is kept too: a campaign may be running on it."""
_MADE = ("initramfs-*", "agent-*")
_BOOT = Path("/boot")
_DEVICES = ("veth", "cls_u32", "sch_ingress", "act_skbedit")
_DISCIPLINES = (
    "sch_htb", "sch_netem", "sch_prio", "sch_codel", "sch_fq_codel", "sch_pie", "sch_fq_pie",
    "sch_sfq", "sch_red", "sch_cake",
)  # fmt: skip
_CONTROLLERS = (
    "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "nv", "scalable",
    "vegas", "veno", "westwood", "yeah",
)  # fmt: skip


@dataclass(frozen=True)
class Image:
    """What a machine boots from."""

    kernel: Path
    release: str
    initramfs: Path


def cache_dir() -> Path:
    """Where what was built is kept."""
    return cache_folder() / "kernel"


def build(agent: Path) -> Image:
    """The image that runs `agent`; made if it is not in the cache."""
    kernel, release = find_kernel()
    entries = {
        "init": cpio.file(agent.read_bytes(), executable=True),
        # The first process has the one as its standard streams; its children read the other.
        "dev/console": cpio.device(5, 1),
        "dev/null": cpio.device(1, 3),
    }
    for tool in TOOLS:
        entries |= _program(tool)
    entries |= _modules(release)
    data = cpio.archive(entries)
    key = hashlib.sha256(data + release.encode()).hexdigest()[:16]
    # Not compressed: emulated instructions are dearer than the disk.
    path = cache_dir() / f"initramfs-{release}-{key}.cpio"
    if not path.exists():
        keep(path, data)
    note_use(path)
    return Image(kernel, release, path)


def keep(path: Path, data: bytes) -> None:
    """Writes a file of the cache as a whole, and removes old ones of its kind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(data)
    Path(part.name).chmod(0o755)  # an agent runs here too, to say what it would refuse
    Path(part.name).replace(path)
    prune(path.parent)


def note_use(path: Path) -> None:
    """Marks a file of the cache as used now."""
    with contextlib.suppress(OSError):  # it may be another user's
        os.utime(path)


def prune(folder: Path) -> None:
    """Removes from the cache what was not used for a day, but for the last few of each kind."""
    with contextlib.suppress(OSError):  # another process prunes, or the folder is another user's
        for pattern in _MADE:
            used = sorted((path.stat().st_mtime, path) for path in folder.glob(pattern))
            for last, path in used[:-_KEPT]:
                if time.time() - last > _BUSY_S:
                    path.unlink()


def find_kernel() -> tuple[Path, str]:
    """The newest installed kernel whose modules are there too, a cloud kernel if there is one."""
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
        # Ubuntu lets root alone read its images. A plain chmod is undone by the next update.
        hint = f"sudo dpkg-statoverride --update --add root root 0644 {path}"
        raise MissingError(f"{path}: only root can read it", hint)
    return path, release


def _module_dir(release: str) -> Path:
    return Path("/lib/modules") / release


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release))


def tools_path() -> str:
    """Where programs are looked for: what only root has on its path is needed too."""
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _program(name: str) -> dict[str, cpio.Entry]:
    """A program at `bin/`, and the libraries it needs where it looks for them."""
    found = shutil.which(name, path=tools_path())
    if found is None:
        raise MissingError(f"`{name}` is not installed", APT_LINE)
    listing = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"(/\S+) \(0x", listing)
    entries = {f"bin/{name}": cpio.file(Path(found).read_bytes(), executable=True)}
    for library in libraries:
        entries[library.lstrip("/")] = cpio.file(Path(library).read_bytes(), executable=True)
    return entries


def gateway_files(release: str) -> dict[str, cpio.Entry]:
    """What a machine needs besides for a gateway of ours: a module, and its device."""
    entries = _module_files(release, ("tun",))
    return entries | {"dev/net/tun": cpio.device(10, 200)}


def _modules(release: str) -> dict[str, cpio.Entry]:
    """Modules at `modules/`, and the list from which they are loaded."""
    wanted = [*_DEVICES, *_DISCIPLINES, *(f"tcp_{name}" for name in _CONTROLLERS)]
    entries = _module_files(release, wanted)
    order = "".join(f"/{path}\n" for path in entries)
    return entries | {"aqmlab/modules": cpio.file(order.encode())}


def _module_files(release: str, wanted: Sequence[str]) -> dict[str, cpio.Entry]:
    """Modules at `modules/` that are not built in, in an order in which they load."""
    base = _module_dir(release)
    needs = {}
    for line in _listed(base / "modules.dep"):
        path, _, others = line.partition(":")
        needs[_name(path)] = (path, others.split())
    builtin = {_name(line) for line in _listed(base / "modules.builtin")}
    entries: dict[str, cpio.Entry] = {}
    for name in wanted:
        if name in builtin:
            continue
        if name not in needs:
            if name in (*_DEVICES, "sch_htb", "sch_netem", "tun"):
                hint = f"install another kernel: {APT_LINE}"
                raise MissingError(f"kernel {release} has no module {name}", hint)
            continue
        own, needed = needs[name]
        # modules.dep names the last dependency first.
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
        raise MissingError(f"{path}: a module packed like this cannot be unpacked", hint)
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

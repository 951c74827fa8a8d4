"""The origin of an agent: the commit, compiler and libraries from which the same bytes are built.

An agent's instructions take virtual time, so a result depends on every byte of the agent. The build
is reproducible: the agent holds no path of the host (`agent.build`), and Cargo's lock file names
each crate with its checksum. The same commit, compiler and C library give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from aqmlab.base.failures import RequestError
from aqmlab.base.scratch import Scratch
from aqmlab.engines.kernel import agent

_LOCK = "Cargo.lock"
_BUILT_FROM = ("Cargo.toml", _LOCK, "crates")


@dataclass(frozen=True, slots=True)
class AgentSource:
    """Everything that determines the bytes of an agent."""

    commit: str
    """The commit of this project's repository."""
    compiler: str
    """The first line of `rustc --version`."""
    c_library: str
    """The first line of `ldd --version`; the agent is linked statically."""
    lock: str
    """The first 16 digits of the SHA-256 of `Cargo.lock`."""

    def differences(self, here: AgentSource) -> list[str]:
        """The parts, except the commit, in which this source differs from `here`, in words."""
        pairs = zip(asdict(self).items(), asdict(here).values(), strict=True)
        return [
            f"{name.replace('_', ' ')} was {then} and is {now}"
            for (name, then), now in pairs
            if name != "commit" and then != now
        ]


def source_here() -> AgentSource:
    """The source of the agent that this tree builds.

    Raises `RequestError` outside a Git repository, or if the agent's sources are not committed.
    """
    root = _root()
    changed = _git(root, "status", "--porcelain", "--", *_BUILT_FROM).decode().splitlines()
    if changed:
        raise RequestError(
            f"{root / changed[0][3:]}: is not committed, so this agent cannot be rebuilt later",
            "commit the changes, and run `make setup`",
        )
    commit = _git(root, "rev-parse", "HEAD").decode().strip()
    return _source(root, commit)


def rebuild(source: AgentSource, say: Callable[[str], None] = print) -> bytes:
    """The agent of `source`, built from its commit.

    Other compilers and libraries give other bytes, so the caller compares the bytes. Raises
    `RequestError` if the commit is not in the repository, and `MissingError` without Cargo.
    """
    root = _root()
    packed = _git(root, "archive", source.commit, *_BUILT_FROM)
    say(f"building the agent of commit {source.commit[:12]} (a minute or two) ...")
    with Scratch() as folder, tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
        return agent.build(Path(folder), Path(folder) / "target").read_bytes()


def differences_here(source: AgentSource) -> list[str]:
    """The differences between `source` and a build of its commit on this machine, in words."""
    return source.differences(_source(_root(), source.commit))


def _source(root: Path, commit: str) -> AgentSource:
    lock = hashlib.sha256(_git(root, "show", f"{commit}:{_LOCK}")).hexdigest()[:16]
    return AgentSource(commit, _version("rustc"), _version("ldd"), lock)


def _root() -> Path:
    root = agent.source_tree()
    if root is None:
        raise RequestError(
            "this package was installed without its sources, so no agent can be rebuilt",
            "clone the repository with its history, and run `make setup` there",
        )
    return root


def _git(root: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    except FileNotFoundError:
        raise RequestError("`git` is not installed", "apt-get install git") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise RequestError(
            f"{root}: `git {' '.join(arguments[:2])}` failed: {said[0]}",
            "a rebuild needs a clone of the repository with its whole history",
        )
    return done.stdout


def _version(program: str) -> str:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "not installed"
    return done.stdout.partition("\n")[0].strip()

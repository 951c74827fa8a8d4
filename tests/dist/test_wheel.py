"""The wheel of `make dist` in a bare virtual environment, on a machine without a compiler."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from aqmlab.engines.kernel import agent
from support import machines

pytestmark = pytest.mark.dist

ROOT = Path(__file__).parents[2]
COMPILERS = re.compile(
    # A word boundary would not end `c++`.
    r"(cargo|rust\w*|g?cc|[cg]\+\+|c\d\d|clang|clang\+\+|ld|as|zig)(?!\w)"
    r"|.*-(gcc|g\+\+|ld|as|clang)(?!\w)"
)


def built(pattern: str) -> Path:
    """The first file of `dist/` that matches `pattern`."""
    found = list((ROOT / "dist").glob(pattern))
    assert found, f"dist/ has no {pattern}; `make dist` builds it and runs this test"
    return found[0]


@dataclass(frozen=True)
class Machine:
    """A folder in which commands run with a virtual environment and without a compiler."""

    folder: Path
    programs: Path

    def run(self, command: str, status: int = 0) -> str:
        """Runs a command line, which must end with `status`, and returns its output."""
        environment = {
            "PATH": str(self.programs),
            "HOME": str(self.folder),
            "COLUMNS": "",
            "NO_COLOR": "1",
        }
        done = subprocess.run(
            shlex.split(command), cwd=self.folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine on which only the wheel and its dependencies are installed."""
    wheel, folder = built("*.whl"), tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
    done = subprocess.run([*pip, wheel], capture_output=True, text=True)
    if re.search(r"connection|Max retries", done.stderr):
        pytest.skip(f"pip reaches no registry: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    programs = folder / "programs"
    programs.mkdir()
    for place in (folder / "venv/bin", *map(Path, ("/usr/bin", "/bin", "/usr/sbin", "/sbin"))):
        for program in place.iterdir() if place.is_dir() else ():
            if not COMPILERS.match(program.name) and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    shutil.copytree(ROOT / "examples", folder / "examples")
    return Machine(folder, programs)


def test_no_compiler_is_on_the_path(bare: Machine) -> None:
    for name in ("cargo", "rustc", "cc", "c++", "c99", "gcc", "g++", "ld", "as", "clang"):
        assert shutil.which(name, path=str(bare.programs)) is None


def _first_commands() -> list[str]:
    """The first five commands of README.md that call aqmlab."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```console\n(.*?)```", text, re.S))
    commands = re.findall(r"^(?:\$ )?(aqmlab .*)$", code, re.M)
    return [command.partition("  #")[0].rstrip() for command in commands[:5]]


@pytest.mark.parametrize("command", _first_commands())
def test_a_first_command_of_the_readme_runs(bare: Machine, command: str) -> None:
    assert re.search(r"^fq_codel \d+/2 .* good ", bare.run(command), re.M)


def test_the_first_command_prints_the_table_of_the_readme(bare: Machine) -> None:
    command = _first_commands()[0]
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition(f"$ {command}\n")[2]
    printed = bare.run(f"{command} --out shown")
    assert "\n".join(line.rstrip() for line in printed.rstrip().splitlines()) in shown


def test_the_demonstration_runs(bare: Machine) -> None:
    reports = bare.run("aqmlab demo examples/teacup/household.py").splitlines()[-3:]
    assert all((bare.folder / report).stat().st_size > 10_000 for report in reports)


def test_the_page_is_written_and_holds_the_simulator(bare: Machine) -> None:
    bare.run("aqmlab page --no-open --out page.html")
    assert (bare.folder / "page.html").stat().st_size > 400_000


def test_the_data_of_the_package_are_there(bare: Machine) -> None:
    for topic in ("scenarios", "households", "activities", "studies", "disciplines", "apps"):
        assert bare.run(f"aqmlab list {topic}").count("\n") > 3, topic
    assert "Acknowledgements" in bare.run("aqmlab demand home2026-family")
    assert bare.run("aqmlab reproduce boerlage2016 --figure 28 --dry-run")
    assert "throughput" in bare.run("aqmlab validate download-reno.codel")


@pytest.fixture
def bootable() -> None:
    """Skips the test if no machine of the kernel engine can boot."""
    problem = machines.missing()
    if problem is not None:
        pytest.skip(f"no machine can be booted: {problem}")


def test_the_kernel_engine_boots_the_agent_of_the_wheel(bare: Machine, bootable: None) -> None:
    bare.run("aqmlab kernel build")
    assert "site-packages" in bare.run("aqmlab kernel status")
    shown = bare.run('aqmlab run examples/first.toml --duration "5 s" --engine kernel --out kernel')
    assert "fq_codel 20/2" in shown


def test_the_wheel_suits_every_linux_since_2014() -> None:
    pytest.importorskip("ziglang", reason="the wheel was linked without Zig")
    assert "manylinux2014_x86_64" in built("*.whl").name


def test_the_agent_of_the_wheel_is_executable_and_no_copy_stays_in_the_source_tree() -> None:
    with zipfile.ZipFile(built("*.whl")) as archive:
        (packed,) = (one for one in archive.infolist() if one.filename.endswith("/aqmlab-agent"))
    assert packed.external_attr >> 16 & 0o111
    assert not agent.PACKAGED.exists()


@pytest.mark.parametrize(
    ("wanted", "unwanted"),
    [
        (r"/Cargo\.lock$", r"^[^/]+/tests/|\.so$"),
        (r"/crates/py/src/lib\.rs$", r"/aqmlab-agent$"),
        (r"/python/aqmlab/validation/reference/.*\.json\.gz$", r"^[^/]+/(results|target)/"),
        (r"/LICENSE$", r"/\.venv/"),
    ],
)
def test_the_sdist_holds_the_sources_and_no_binary(wanted: str, unwanted: str) -> None:
    with tarfile.open(built("*.tar.gz")) as archive:
        names = archive.getnames()
    assert any(re.search(wanted, name) for name in names)
    assert not [name for name in names if re.search(unwanted, name)]

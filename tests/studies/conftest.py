from pathlib import Path

import pytest
from aqmlab import studies
from aqmlab.studies.laboratory import Asked, Laboratory
from aqmlab.studies.trials import Trials

ABOUT = """
title = "A tiny study"
paper = "Nobody: Nothing, 2017"
claim_seeds = 3

[choices]
buffer = "The paper names none; 30 packets."
"""

HOME = """
title = "A call beside an upload"
duration = "2 s"

[path]
rate = "4/1 Mbit/s"
rtt = "20 ms"

[apps.call]
kind = "voip"

[apps.file]
kind = "bulk"
direction = "up"

[vary]
qdisc = [
    { label = "FIFO", path.qdisc = "pfifo limit=30" },
    { label = "FQ", path.qdisc = "fq_codel" },
]
path.rtt = ["20 ms", "60 ms"]
"""

FIGURES = """
from aqmlab.studies.draw import Boxes, Figure, Lab, flow_quantiles
from aqmlab.studies.trials import Trials

calls = flow_quantiles("induced", "ms", {"Call": "call ↑", "File": "file"})
boxes = Boxes(calls, "induced RTT (ms)", ("qdisc", "rtt"), {"rtt": "RTT (ms)"})
short = {"rtt": "20 ms"}
FIGURES = (
    Figure("1a", "Delays", "4/1 Mbit/s", Trials("home"), boxes),
    Figure("1b", "Delays of a short path", "4/1 Mbit/s", Trials("home", short), boxes),
    Figure("12", "Delays over time", "4/1 Mbit/s", Trials("home", short), Lab("rtt_time")),
)
"""

CLAIMS = """
from aqmlab.studies.claims import Claims, about, below, more
from aqmlab.studies.numbers import Unjudged
from aqmlab.studies.trials import Trials

CLAIMS = Claims()
SHORT = Trials("home", {"rtt": "20 ms"})


@CLAIMS("9-1", "Fig. 1", "A FIFO delays calls.", SHORT, given="buffer")
def _(n):
    fifo, fq = (
        n.flow("call", "induced_p50_ms", {"qdisc": queue, "rtt": "20 ms"}, "up")
        for queue in ("FIFO", "FQ")
    )
    return more("FIFO over FQ", fifo, fq, times=2)


@CLAIMS("9-2", "Fig. 1", "Calls are never delayed.", SHORT)
def _(n):
    at = {"qdisc": "FIFO", "rtt": "20 ms"}
    return below("call", n.flow("call", "induced_p50_ms", at, "up"), 5, "ms")


@CLAIMS("9-3", "Sec. 2", "People are happy.", SHORT)
def _(n):
    raise Unjudged("nobody can be asked")


@CLAIMS("9-4", "Sec. 2", "Three calls need 240 kbit/s.")
def _():
    return about("three calls", 3 * 80, 240, "kbit/s", within=0.01)
"""


def written(folder: Path) -> Path:
    """Writes the tiny study into a folder."""
    folder.mkdir()
    files = {
        "study.toml": ABOUT,
        "home.toml": HOME,
        "figures.py": FIGURES,
        "claims.py": CLAIMS,
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The folder of a study with four trials per seed."""
    return written(tmp_path / "tiny")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """The laboratory of the tiny study after all its trials ran with two seeds."""
    folder = tmp_path_factory.mktemp("studies")
    laboratory = Laboratory(studies.load(written(folder / "tiny")), Asked(2), folder / "out")
    laboratory.run([Trials("home")], jobs=1)
    return laboratory


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps measurements of the tests out of the user's records of speed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

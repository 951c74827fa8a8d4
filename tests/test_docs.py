"""The documents agree with the code: generated parts, columns, metrics, examples and links."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aqmlab
import pytest
from aqmlab import Scenario, _core
from aqmlab.cli import status_of
from aqmlab.planning import planner
from aqmlab.report import figures
from aqmlab.results.verdicts.columns import COLUMNS, QUALITY_COLUMNS
from aqmlab.scenario import applications, catalogue, fields, links, model, wifi

from tools import conformance_count, generate

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RESULTS = (DOCS / "reference/results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", generate.DOCUMENTS)
def test_a_document_is_up_to_date(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    made = generate.Document(text, tmp_path).made()
    assert made == text, "run `.venv/bin/python tools/generate.py`, and read the diff"


@pytest.mark.parametrize("name", generate.DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    path = ROOT / name
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text(encoding="utf-8")):
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in _anchors(found), target


def test_the_notebooks_table_is_what_its_code_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = textwrap.dedent((generate.HERE / "howto/work-in-a-notebook.md").read_text("utf-8"))
    blocks = re.findall(r"^   ```(\w+)\n(.*?)^   ```$", text, re.M | re.S)
    (at,) = (number for number, (language, _) in enumerate(blocks) if language == "text")
    run = next(code for language, code in blocks if language == "python")
    names: dict[str, Any] = {}
    for code in (run, blocks[at - 1][1]):
        exec(textwrap.dedent(code), names)
    assert capsys.readouterr().out == textwrap.dedent(blocks[at][1])


def _anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_citation_states_what_the_package_states() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^([a-z-]+): (.+)$", cited, re.M))
    assert stated["title"] == about["name"]
    assert stated["version"] == about["version"] == aqmlab.__version__
    assert stated["abstract"] == about["description"]
    assert stated["license"] == about["license"]["text"]


def test_the_dry_run_that_is_shown_counts_what_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (DOCS / "reference/campaigns.md").read_text(encoding="utf-8")
    command, *shown = re.findall(r"^\$ aqmlab (run .*--dry-run)\n(.*)\n(.*)$", text, re.M)[0]
    assert status_of(shlex.split(command)) == 0
    assert capsys.readouterr().out.splitlines()[:2] == shown


def test_statements_are_numbered_from_one_and_every_test_names_one_of_them() -> None:
    text = (DOCS / "reference/conformance.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^\| C-(\d{2,3}) \|", text, re.M)]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert conformance_count.tested() <= set(numbers)


def test_a_test_is_found_by_its_name_and_by_its_comment() -> None:
    names = {
        number: {holder.name for holder in held}
        for number, held in conformance_count.holders().items()
    }
    assert "c01_pfifo_holds_its_limit_and_drops_the_next_arrival" in names[1]
    assert "links_charge_what_their_framing_adds" in names[61]
    assert "codel_marks.q" in names[13]


def test_the_tutorials_answer_is_that_of_its_table() -> None:
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    served = re.findall(r"^(pfifo|fq_codel) (\d+/\d+) +3 +0 +0 .* to spare$", text, re.M)
    assert [speed for queue, speed in served if queue == "pfifo"] == ["50/20"]
    assert ("fq_codel", "12/1") in served
    assert re.search(r"^pfifo 25/5 +1 +0 +2 .* anna\?, ben\?$", text, re.M)
    assert "169 and 179 ms" in " ".join(text.split())
    assert {"169 ms > 100 ms", "179 ms > 100 ms"} <= set(re.findall(r"\d+ ms > 100 ms", text))
    answer = "needs the 50/20 Mbit/s plan. With `fq_codel` even the 12/1 Mbit/s plan"
    assert answer in " ".join(text.split())


# --- Results -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    """The simulator's tables for a home with every application, with and without measurement."""
    apps = {name: {"kind": name} for name in catalogue.load()["apps"]}
    for name in ("bursts", "notification", "photo_upload"):
        apps[name] |= {"period": "10 s", "deadline": "5 s"}
    apps["web"] |= {"think": "3 s"}
    apps["file"] = {"kind": "bulk", "size": "200 kB"}
    home = Scenario(
        title="everything",
        duration="60 s",
        path={
            "rate": "20/5 Mbit/s",
            "qdisc": "cake",  # whose rate the programs of the gateway change
            "shaper": "cake",
            "modem": {"rate": "22/6 Mbit/s", "qdisc": "fq_codel"},
        },
        apps=apps,
    )
    spec = planner.load(home).trials[0].spec.members()
    bare = {**spec, "duration_ns": 10**9, "measure": {"enabled": False}}
    tables: dict[str, Any] = _core.run(json.dumps(spec))["tables"]
    return _core.run(json.dumps(bare))["tables"] | tables


def _section(name: str) -> str:
    found = re.search(rf"^## `{name}`\n(.*?)(?=^## )", RESULTS, re.M | re.S)
    assert found, f"docs/reference/results.md has no section on `{name}`"
    return found[1]


def _first_column(text: str, head: str) -> list[str]:
    """The first cells of the table whose head begins with `head`."""
    table = re.search(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.M)
    assert table, head
    return [line.split(" | ")[0].removeprefix("| ") for line in table[1].splitlines()]


def test_every_column_of_every_table_is_defined(everything: dict[str, Any]) -> None:
    for name, columns in everything.items():
        defined = [cell.strip("`") for cell in _first_column(_section(name), "Column")]
        assert defined == list(columns), name


def test_every_column_of_the_verdicts_is_defined() -> None:
    text = (DOCS / "reference/verdicts.md").read_text(encoding="utf-8")
    section = text.partition("\n## The table `verdicts`\n")[2]
    defined = [cell.strip("`") for cell in _first_column(section, "Column")]
    assert defined == list(COLUMNS)


def test_every_column_of_the_quality_is_defined() -> None:
    text = (DOCS / "reference/verdicts.md").read_text(encoding="utf-8")
    section = text.partition("\n## Quality of Outcome\n")[2]
    defined = [cell.strip("`") for cell in _first_column(section, "Column")]
    assert defined == list(QUALITY_COLUMNS)


def test_every_metric_of_every_application_is_defined(everything: dict[str, Any]) -> None:
    cells = _first_column(_section("apps"), "Metric")
    defined = {name for cell in cells for name in _spelled_out(cell)}
    measured = set(everything["apps"]["metric"])
    assert measured <= defined, f"not in docs/reference/results.md: {sorted(measured - defined)}"


def _spelled_out(cell: str) -> Iterator[str]:
    """Yields the metrics that a cell names: `a_p50_ms` … `a_max_ms` stands for all quantiles."""
    names = re.findall(r"`(\w+)`", cell)
    for name in names:
        for way in ("up", "down") if "_up_" in name or "_down_" in name else ("",):
            one = re.sub(r"_(up|down)_", f"_{way}_", name)
            yield one
            if "…" in cell:
                for quantile in ("p50", "p95", "p99", "max"):
                    yield re.sub(r"_(p50|max)_", f"_{quantile}_", one)


def test_every_series_and_gauge_is_defined(everything: dict[str, Any]) -> None:
    series = set(re.findall(r"`(\w+)`", _section("app_series")))
    assert set(everything["app_series"]["metric"]) <= series
    gauges = set(re.findall(r"`(\w+)`", _section("queue_gauges")))
    # The statistics of a tin of CAKE have the tin's name before them.
    gauges |= {name.replace("TIN", tin) for name in gauges for tin in gauges}
    for kind in catalogue.load()["disciplines"]:
        assert _gauges(kind) <= gauges, kind


def _gauges(kind: str) -> set[str]:
    home = Scenario(duration="1 s", path={"rate": "10/1 Mbit/s", "qdisc": kind}, apps=_PING)
    spec = planner.load(home).trials[0].spec.members()
    return set(_core.run(json.dumps(spec))["tables"]["queue_gauges"]["gauge"])


_PING = {"ping": {"kind": "ping"}}


# --- Scenarios ---------------------------------------------------------------------------------


def _examples() -> list[str]:
    """The TOML examples of the documents."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in generate.DOCUMENTS]
    return [code for text in texts for code in re.findall(r"```toml\n(.*?)```", text, re.S)]


@pytest.mark.parametrize("code", _examples())
def test_an_example_of_a_scenario_can_be_run(code: str, tmp_path: Path) -> None:
    path = tmp_path / "example.toml"
    base = "" if code.startswith("extends") else 'extends = "household"\n'
    path.write_text(base + code, encoding="utf-8")
    assert planner.load(path).trials


def test_the_overheads_are_those_of_the_table() -> None:
    text = (DOCS / "reference/scenarios.md").read_text(encoding="utf-8")
    for name, meant in links.OVERHEADS.items():
        least = meant.get("minimum", "")
        cells = [f"`{name}`", meant.get("bytes", 0), least, "yes" if meant.get("atm") else ""]
        row = "| " + " | ".join(str(cell) for cell in cells)
        row = re.sub(r" +", " ", f"{row} | {meant.get('counted', 0)} |")
        assert row in re.sub(r" +", " ", text), row


@pytest.mark.parametrize(
    "part", [model.Scenario, model.Path, model.Modem, model.Measure, model.Report, wifi.Wifi,
             applications.Host, applications.App, applications.Timing, links.Link, links.Hop,
             links.Overhead]
)  # fmt: skip
def test_every_key_of_a_scenario_is_described(part: type[fields.Value]) -> None:
    text = (DOCS / "reference/scenarios.md").read_text(encoding="utf-8")
    names = {info.alias or name for name, info in part.model_fields.items()}
    told = [name for name in names if f"`{name}`" in text or f"[path.{name}]" in text]
    missing = names - {*told, "params", "settings"}
    if part is links.Overhead:
        missing = {name for name in missing if f"{name} = " not in text}
    assert not missing


def test_the_figures_are_all_named() -> None:
    text = (DOCS / "reference/scenarios.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in figures.FIGURES)


def test_the_words_of_the_front_page_are_explained() -> None:
    glossary = (DOCS / "reference/glossary.md").read_text(encoding="utf-8")
    explained = "\n".join(re.findall(r"^\| ([^|]*) \|", glossary, re.M)).lower()
    words = ("AQM", "ECN", "FIFO", "RTT", "bufferbloat", "digest", "flow", "jitter", "loss", "p95")
    for word in (*words, "queue discipline", "sojourn", "tier", "trial", "verdict", "fair share"):
        assert re.search(rf"\b{word.lower()}\b", explained), word
    assert "docs/reference/glossary.md" in (ROOT / "README.md").read_text(encoding="utf-8")

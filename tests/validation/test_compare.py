"""The comparison accepts equal results, and finds differences."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from aqmlab.base.failures import LabError, RequestError
from aqmlab.engines.engine import Runner
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation import (
    cases,
    compare,
    engines,
    grid,
    page,
    regenerate,
    spread,
    trial_record,
)
from aqmlab.validation.cases import distance
from aqmlab.validation.compare import Rule, quantile
from aqmlab.validation.reference import Reference

from .support import RECIPE, fake_kernel, slow_kernel, small


def _grown(folder: Path, engine: Runner) -> Reference:
    reference = Reference(folder)
    maker = engines.Maker(engine, RECIPE)
    jobs = regenerate.jobs_of(small().cells, reference, missing=True)
    tasks = [regenerate.Task(job, maker) for job in jobs]
    growth = regenerate.grow(tasks, reference, parallel=2, progress=lambda *_: None)
    assert growth.well and growth.count("new") == 10
    return reference


@pytest.fixture(scope="module")
def itself(tmp_path_factory: pytest.TempPathFactory) -> compare.Validation:
    """The simulator compared with itself at other seeds."""
    reference = _grown(tmp_path_factory.mktemp("same"), fake_kernel)
    return compare.run(small().cells, reference)


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> compare.Validation:
    """The simulator compared with a kernel with a slower line."""
    reference = _grown(tmp_path_factory.mktemp("slow"), slow_kernel)
    return compare.run(small().cells, reference)


def test_the_simulator_cannot_be_told_from_itself(itself: compare.Validation) -> None:
    assert itself.accepted
    line = {line.metric.name: line for line in itself.comparisons[0].lines}["throughput"]
    assert line.cells == 3
    assert line.error_p50 < 0.05


def test_a_line_that_is_a_fifth_slower_is_found(slower: compare.Validation) -> None:
    assert not slower.accepted
    comparison = slower.comparisons[0]
    line = {line.metric.name: line for line in comparison.lines}["throughput"]
    assert not line.accepted and line.in_10 == 0  # chance explains only the lossy cell
    assert line.error_p50 == pytest.approx(0.25, rel=0.1)
    worst = comparison.worst
    assert {case.cell.name for case in worst} >= {"alone.codel", "alone.fq_codel-100"}
    assert worst == sorted(worst, key=lambda case: -case.excess)


def test_what_is_compared_can_be_chosen(tmp_path: Path) -> None:
    reference = _grown(tmp_path, fake_kernel)
    made = compare.run(
        small().select(["both.*"]), reference, seeds=1, metrics=["loss", "cwnd_shape"]
    )
    assert {case.metric.name for case in made.comparisons[0].cases} == {"loss", "cwnd_shape"}
    assert {len(case.ours) for case in made.comparisons[0].cases} == {1}
    assert all(case.spread is None for case in made.comparisons[0].cases)
    with pytest.raises(RequestError, match="there is no metric `los`"):
        compare.run(small().cells, reference, metrics=["los"])


def test_an_empty_set_says_how_it_grows(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no trial of these cells"):
        compare.run(small().cells, Reference(tmp_path / "nothing"))


def test_a_peer_does_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = _grown(tmp_path, fake_kernel)
    monkeypatch.setitem(engines.PEERS, "other", engines.Peer(f"{__name__}:only_codel"))
    made = compare.run(small().cells, reference, peer="other")
    mine, others = made.comparisons
    assert mine.engine == "sim" and others.engine == "other"
    assert {case.cell.name for case in others.cases} == {"alone.codel"}
    assert set(others.refused) == {"alone.fq_codel-100", "both.8-2.loss1pc"}
    with pytest.raises(RequestError, match="no peer called `ns4`"):
        engines.peer("ns4")


def test_a_trial_at_which_a_peer_dies_is_left_out_of_its_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = _grown(tmp_path, fake_kernel)
    monkeypatch.setitem(engines.PEERS, "other", engines.Peer(f"{__name__}:dies_of_codel"))
    others = compare.run(small().cells, reference, peer="other").comparisons[1]
    assert others.refused == {"alone.codel": "it ended before the trial did"}
    assert "alone.fq_codel-100" in {case.cell.name for case in others.cases}


def dies_of_codel(spec_json: str) -> object:
    """An engine that fails on one discipline."""
    if '"codel"' in spec_json:
        raise LabError("it ended before the trial did")
    return fake_kernel(spec_json)


def only_codel(spec_json: str) -> object:
    """An engine that supports only one discipline."""
    spec = TrialSpec.read(spec_json)
    if any(link.qdisc.kind != "codel" for link in spec.links):
        raise ValueError("it has CoDel only")
    return fake_kernel(spec_json)


def test_the_report_stands_alone_and_shows_the_worst(slower: compare.Validation) -> None:
    text = page.page(slower)
    assert "alone.codel" in text and "the rule is not met" in text
    assert "http" not in text.replace("http-equiv", "").replace("https://", "")
    assert text.count('<img src="data:image/') >= 3


def test_json_has_no_numbers_that_json_has_not(slower: compare.Validation) -> None:
    text = json.dumps(slower.to_json(), allow_nan=False)
    told = json.loads(text)
    assert told["accepted"] is False
    short = {(one.cell.name, one.metric.name) for one in slower.comparisons[0].worst}
    cases = told["engines"]["sim"]["cases"]
    assert {(one["cell"], one["metric"]) for one in cases if one["meets"] is False} == short
    assert {one["metric"] for one in cases if one["meets"] is not None} == set(compare.RULES)


def _light_cells(share: int) -> dict[str, grid.Cell]:
    """A sample of the cells whose links can carry at most 400 Mbit in a trial.

    Of the cells with a known spread, the sample has one in `share`. Of the cells with three seeds,
    the sample has one in `3 * share`.
    """

    def carries(cell: grid.Cell) -> float:
        return sum(link.rate_bps for link in cell.spec.links) * cell.duration_s

    light = [cell for cell in grid.load().cells if carries(cell) <= 400e6]
    few = [cell for cell in light if len(cell.seeds) == 3]
    known = [cell for cell in light if len(cell.seeds) >= spread.KNOWN_SEEDS]
    return {cell.name: cell for cell in (*known[::share], *few[:: 3 * share])}


def _least_kept(cells: int) -> float:
    level = spread.LEVEL
    return level - 3 * math.sqrt(level * (1 - level) / cells)


@pytest.mark.parametrize(("share", "count"), [(4, 27), pytest.param(2, 53, marks=pytest.mark.soak)])
def test_over_the_grid_the_simulator_meets_the_rule_against_itself_by_narrow_bounds(
    share: int, count: int
) -> None:
    cells = _light_cells(share)
    assert len(cells) >= count
    keys = [
        (name, seed) for name, cell in cells.items() for seed in cell.seeds[: spread.KNOWN_SEEDS]
    ]
    chosen = [compare.BY_NAME[name] for name in compare.RULES]
    kernel, _ = compare._run_all(fake_kernel, cells, keys, 2)
    ours, _ = compare._run_all(engines.simulator(), cells, keys, 2)
    comparison = compare.Comparison("sim", tuple(cases.cases_of(cells, kernel, ours, chosen)), {})
    assert comparison.accepted
    # The number of cells beyond the limit is random, with a mean of one in 20. The test allows
    # three standard deviations. Fewer cells are within the kernel's spread than within the limit,
    # because three seeds may agree by chance.
    for line in comparison.lines:
        assert line.meets is not None and line.meets >= _least_kept(len(cells)), line
        assert line.in_spread < 1, line
        assert line.spread_p50 is not None
        assert line.spread_p50 < (0.20 if line.metric.counts else 0.03), line


def test_the_halves_of_a_cell_s_seeds_are_compared_if_each_has_a_spread() -> None:
    cell = small().cells[0]
    records, _ = compare._run_all(
        fake_kernel, {cell.name: cell}, [(cell.name, seed) for seed in range(1, 8)], 2
    )
    chosen = [compare.BY_NAME[name] for name in compare.RULES]

    def halves(seeds: int) -> list[cases.Case]:
        some = {key: one for key, one in records.items() if key[1] <= seeds}
        return list(cases.cases_of_halves({cell.name: cell}, some, chosen))

    assert not halves(5)
    found = halves(7)
    assert {case.metric.name for case in found} == set(compare.RULES)
    throughputs = [
        trial_record.measure(cell.spec, records[cell.name, seed]).values["throughput"]["bulk down"]
        for seed in range(1, 7)
    ]
    (throughput,) = (case for case in found if case.metric.name == "throughput")
    assert [*throughput.kernel, *throughput.ours] == throughputs
    assert len(throughput.ours) == 3 and throughput.spread is not None


# --- Single cases --------------------------------------------------------------------------------


def _pair(kernel: list[float], ours: list[float], metric: str = "loss") -> cases.Case:
    cell = small().cells[0]
    pair = cases.Pair(cell, compare.BY_NAME[metric], "x", kernel, ours, 0.01)
    return next(iter(cases.judged([pair], {})))


def test_a_difference_within_the_resolution_is_none() -> None:
    assert _pair([0.01, 0.01], [0.02, 0.02]).error == 0
    assert _pair([0.01, 0.01], [0.04, 0.04]).error == pytest.approx(3)


def test_an_error_is_a_share_of_the_kernel_s_median() -> None:
    case = _pair([10.0, 10.0, 30.0], [12.0, 12.0, 0.0])
    assert case.error == pytest.approx(0.2)


def test_a_number_that_one_side_lacks_is_an_infinite_error_unless_it_is_next_to_nothing() -> None:
    assert math.isinf(_pair([5.0, 5.0], []).error)
    assert math.isinf(_pair([], [5.0, 5.0]).error)
    assert not _pair([5.0, 5.0], []).within(0.1)
    assert _pair([], [0.0, 0.0]).error == 0


def test_a_cell_counts_as_within_only_if_every_flow_is() -> None:
    cell = small().cells[0]
    metric = compare.BY_NAME["throughput"]
    both = [
        cases.Case(cell, metric, item, (1.0,), (1.0,), error, None)
        for item, error in (("a", 0.0), ("b", 0.2))
    ]
    line = compare._line(metric, both)
    assert line.meets == 0 and line.cases == 2 and line.cells == 1


def test_the_rule_is_that_of_the_project() -> None:
    medians, tails = Rule(0.05, 0.85), Rule(0.10, 0.80)
    assert list(compare.RULES.items()) == [
        ("throughput", medians),
        ("rtt_p50", medians),
        ("rtt_p95", tails),
        ("loss", tails),
    ]


def test_quantiles_and_distances() -> None:
    assert quantile([1, 2, 3, 4], 0.5) == 2
    assert quantile([1, 2, 3, 4], 0.9) == 4
    assert distance([1, 2], [2, 1]) == pytest.approx(2 * 2 / 6)
    assert distance([], []) == 0

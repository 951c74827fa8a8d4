"""The simulator against the kernel, from the reference set: no machine is started."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from aqmlab.validate import compare, grid, metrics
from aqmlab.validate.reference import Reference

REFERENCE = Reference()
CELLS = grid.load().cells


@pytest.fixture(scope="module")
def validation() -> compare.Validation:
    """What is compared, once the kernel's spread is known in every cell."""
    there, wanted = REFERENCE.complete(CELLS)
    if there < wanted:
        pytest.skip(
            f"the reference set is not whole: {there} of {wanted} trials of these cells; "
            "`aqmlab validate --regenerate --missing` grows it"
        )
    return compare.run(CELLS, REFERENCE)


@pytest.mark.parametrize("metric", compare.RULES)
def test_the_simulator_is_as_near_the_kernel_as_the_rule_asks(
    validation: compare.Validation, metric: str
) -> None:
    comparison = validation.comparisons[0]
    line = {line.metric.name: line for line in comparison.lines}[metric]
    worst = [
        f"{case.cell.name} {case.item}: {100 * case.error:.1f} %"
        for case in comparison.worst
        if case.metric.name == metric
    ]
    assert line.accepted, f"{line.meets:.0%} of the cells; worst: {'; '.join(worst[:8])}"


def test_the_set_holds_only_cells_of_the_grid_and_stays_small() -> None:
    assert REFERENCE.strays(grid.load().cells) == []
    if REFERENCE.folder.is_dir():
        assert sum(path.stat().st_size for path in REFERENCE.folder.iterdir()) < 3_000_000


def test_every_trial_of_the_set_says_what_made_it_and_can_be_measured() -> None:
    for cell in grid.load().cells:
        for seed, trial in REFERENCE.trials(cell).items():
            recipe: Mapping[str, str] = trial.recipe
            assert {"kernel", "qemu", "agent", "grid", "spec"} <= set(recipe), (cell.name, seed)
            found = metrics.measure(cell.spec, trial.record)
            assert found.values["utilisation"], (cell.name, seed)

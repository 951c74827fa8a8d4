"""The function `aqmlab.reproduce` for Python programs and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from aqmlab import studies
from aqmlab.api import complete
from aqmlab.base.numerals import count_text
from aqmlab.base.python_words import of_arguments
from aqmlab.campaign.executor import TrialExecutor
from aqmlab.campaign.progress_lines import receiver
from aqmlab.campaign.runner import Progress
from aqmlab.engines import registry
from aqmlab.report.figures.drawing import Drawings
from aqmlab.scenario.seeds import spelled
from aqmlab.studies import page, preflight
from aqmlab.studies.laboratory import Asked, Laboratory


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction:
    """The figures of a study, drawn from the results of its trials.

    `figures` are the numbers of the figures, `folder` is the folder of the trials, and `page` is
    the path of the page with the figures.
    """

    study: str
    figures: tuple[str, ...]
    drawings: Drawings
    trials: int
    """The number of trials on which the figures are based."""
    folder: Path
    page: Path

    def __repr__(self) -> str:
        """A summary in one line."""
        drawn = f"{count_text(len(self.figures), 'figure')} ({', '.join(self.figures)})"
        trials = count_text(self.trials, "trial")
        return f"Reproduction({self.study}: {drawn}, {trials}, {str(self.page)!r})"

    def _repr_html_(self) -> str:
        """The figures as HTML, for notebooks."""
        return self.drawings._repr_html_()


def reproduce(
    study: str | Path,
    *,
    figures: str | Sequence[str] = (),
    seeds: str | int | Sequence[int] | None = None,
    engine: str = "sim",
    qdisc_source: str = "kernel",
    out: Path | str | None = None,
    jobs: int | None = None,
    executor: Executor | TrialExecutor | None = None,
    progress: Progress | bool | None = None,
) -> Reproduction:
    """Runs the experiments of a paper and draws its figures, as `aqmlab reproduce` does.

    `study` is the name or the folder of a study. `figures` are the numbers of figures, such as "3b"
    or ["3", "4a"]; without numbers, all figures are drawn. Without `out`, the trials are in the
    folder that `aqmlab reproduce` uses. No finished trial runs again. `progress=True` prints the
    progress.

    Raises `RequestError` for an invalid request, and `TrialsError` if trials have no result.
    """
    with of_arguments((), ()):
        found = studies.load(study)
        wanted = found.asked_figures([figures] if isinstance(figures, str) else list(figures))
        names = registry.named(engine, qdisc_source)
        asked = Asked(found.seeds if seeds is None else spelled(seeds), ",".join(names))
        laboratory = Laboratory(found, asked, None if out is None else Path(out))
        preflight.of_figures(wanted, laboratory)
        needs = [need for one in wanted for need in one.trials]
        report = laboratory.run(needs, jobs=jobs, executor=executor, progress=receiver(progress))
        shown = list(page.draw(laboratory, wanted))
        numbers = tuple(one.number for one in wanted)
        written = page.write(laboratory, shown, _call(study, numbers))
    complete(report)
    return Reproduction(
        study=found.name,
        figures=numbers,
        drawings=Drawings(drawing for one in shown for drawing in one.drawings),
        trials=laboratory.count(needs).trials,
        folder=laboratory.folder,
        page=written,
    )


def _call(study: str | Path, numbers: Sequence[str]) -> str:
    """The call for the page: the study's name and the figures, without other arguments."""
    return f"aqmlab.reproduce({Path(study).name!r}, figures={list(numbers)!r})"

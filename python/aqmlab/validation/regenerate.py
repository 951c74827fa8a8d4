"""Adds trials to the reference set, and checks that the kernel repeats the set's trials exactly.

Every finished trial is stored immediately. After an interruption, even by kill -9, the same command
continues. All cells run with one seed before any cell runs with the next seed. An incomplete set
therefore already covers the grid.

A stored trial runs again from its exact text with the agent that made it. The comparison therefore
shows whether kernel, QEMU and recipe still give the same result. New trials use the agent that made
most trials of the set, so that as few agents as possible make the set. If this agent cannot run a
trial, the next agent of the set runs it. This package's agent is the last to be tried. With
`--renew`, this package's agent makes all trials.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from aqmlab.base.failures import LabError, describe
from aqmlab.engines.kernel import RefusedError
from aqmlab.engines.trial_spec import TrialSpec, text_digest
from aqmlab.validation import agents, engines, grid, trial_record
from aqmlab.validation.engines import Maker
from aqmlab.validation.grid import Cell
from aqmlab.validation.reference import Reference, ReferenceTrial, machine_of

Job = tuple[Cell, int]
NEW, SAME, DIFFERENT, RENEWED = "new", "reproduced", "DIFFERENT", "renewed"
REFUSED, FAILED = "refused", "failed"


@dataclass(slots=True)
class Growth:
    """The result of a regeneration: the trials by outcome."""

    trials: dict[str, list[tuple[str, int, str]]] = field(default_factory=dict)
    seconds: float = 0.0

    def note(self, job: Job, became: str, why: str = "") -> None:
        """Records the outcome of a trial."""
        self.trials.setdefault(became, []).append((job[0].name, job[1], why))

    def count(self, became: str) -> int:
        """The number of trials with this outcome."""
        return len(self.trials.get(became, ()))

    @property
    def well(self) -> bool:
        """Whether no trial failed and all stored trials were reproduced."""
        return not self.count(FAILED) and not self.count(DIFFERENT)


Progress = Callable[[Job, str, str, int, int], None]
"""A function that receives each trial, its outcome and reason, and the counts done and total."""


@dataclass(frozen=True, slots=True)
class Task:
    """A trial to run, its stored result, and its maker."""

    job: Job
    maker: Maker
    old: ReferenceTrial | None = None
    renew: bool = False
    """Whether the stored result is replaced instead of compared."""

    def run(self) -> ReferenceTrial:
        """Runs the trial on the kernel and returns its result."""
        cell, seed = self.job
        text = self.old.spec if self.old is not None and not self.renew else cell.spec_json(seed)
        outcome = self.maker.run(text)
        made = {"grid": str(grid.load().version), "spec": text_digest(text)}
        recipe = {**self.maker.recipe, **made}
        record = trial_record.record(TrialSpec.read(text), outcome)
        return ReferenceTrial(str(outcome["digest"]), recipe, record, text)


# --- The trials to run ----------------------------------------------------------------------------


def jobs_of(
    cells: Sequence[Cell], reference: Reference, *, missing: bool, seeds: int | None = None
) -> list[Job]:
    """All trials of `cells` up to the seed `seeds`, or only the `missing` trials.

    All trials of a seed come before the trials of the next seed.
    """
    return [job for job, old in _trials(cells, reference, seeds) if not (missing and old)]


def sample(
    cells: Sequence[Cell], reference: Reference, count: int, draw: int, seeds: int | None = None
) -> list[Job]:
    """One stored trial of each of `count` cells, drawn with the random seed `draw`.

    Only trials up to the seed `seeds` are drawn.
    """
    there: dict[str, list[Job]] = {}
    for job, old in _trials(cells, reference, seeds):
        if old is not None:
            there.setdefault(job[0].name, []).append(job)
    chance = random.Random(draw)
    chosen = chance.sample(sorted(there), min(count, len(there)))
    return [chance.choice(there[name]) for name in chosen]


def _trials(
    cells: Sequence[Cell], reference: Reference, seeds: int | None
) -> Iterator[tuple[Job, ReferenceTrial | None]]:
    most = max((len(cell.seeds) for cell in cells), default=0)
    has = {cell.name: reference.trials(cell) for cell in cells}
    for seed in range(1, min(most, seeds or most) + 1):
        for cell in cells:
            if seed in cell.seeds:
                yield (cell, seed), has[cell.name].get(seed)


def tasks_of(jobs: Sequence[Job], reference: Reference, say: Callable[[str], None]) -> list[Task]:
    """The tasks of `jobs`, each with the agent of its stored result or a usual agent of the set.

    If the first usual agent is too old for a trial, the next one runs the trial. The last one is
    this package's agent. Raises `RequestError` if an agent cannot be rebuilt, and `MissingError`
    for missing programs.
    """
    usual = reference.usual_agents()
    has = {cell.name: reference.trials(cell) for cell, _ in jobs}
    makers: dict[str | None, Maker] = {}
    new: dict[str, Maker] = {}

    def maker_of(digest: str | None) -> Maker:
        if digest not in makers:
            program = agents.program(reference.folder, digest, say) if digest else None
            makers[digest] = engines.kernel([cell for cell, _ in jobs], say, program)
        return makers[digest]

    def maker_for(cell: Cell) -> Maker:
        if cell.name not in new:
            able = (maker for digest in usual if (maker := maker_of(digest)).can_run(cell.spec))
            new[cell.name] = next(able, None) or maker_of(None)
        return new[cell.name]

    olds = [has[cell.name].get(seed) for cell, seed in jobs]
    return [
        Task(job, maker_of(old.recipe["agent"]) if old else maker_for(job[0]), old)
        for job, old in zip(jobs, olds, strict=True)
    ]


def renewals(
    cells: Sequence[Cell],
    reference: Reference,
    say: Callable[[str], None],
    seeds: int | None = None,
) -> list[Task]:
    """The tasks of this package's agent: trials that are missing, outdated or of other agents."""
    maker = engines.kernel(cells, say)
    return [
        Task(job, maker, old, renew=True)
        for job, old in _trials(cells, reference, seeds)
        if old is None or changes(old.recipe, maker.recipe) or old.spec != job[0].spec_json(job[1])
    ]


def warnings(tasks: Iterable[Task], reference: Reference) -> list[str]:
    """A sentence for each difference between this machine and the machine that made the set.

    Renewals give no sentences.
    """
    usual = reference.usual_recipe()
    again: Counter[str] = Counter()
    new: Counter[str] = Counter()
    for task in tasks:
        if task.old is not None and not task.renew:
            again.update(changes(task.old.recipe, task.maker.recipe))
        elif not task.renew and usual is not None:
            new.update(changes(usual, task.maker.recipe))
    wont = "may not come out the same to the byte"
    return [
        *(f"{change}: {_trials_in_words(count)} {wont}" for change, count in again.items()),
        *(f"{change}: {_trials_in_words(count)} will not be made like the rest of the set"
          for change, count in new.items()),
    ]  # fmt: skip


def _trials_in_words(count: int) -> str:
    return f"{count} trial{'s' if count > 1 else ''}"


_NAMES = {
    "kernel": "the kernel",
    "qemu": "QEMU",
    "tools": "the version of a program that sets up the network",
    "agent": "the agent",
    "machine": "the machine (QEMU's options and firmware)",
    "image": "what boots (by its bytes: kernel, modules, agent, programs)",
}


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The differences between the makers in two recipes, in words."""
    old, new = machine_of(old), machine_of(new)
    keys = {**_NAMES, **old, **new}
    pairs = ((key, old.get(key, "not named"), new.get(key, "not named")) for key in keys)
    return [
        f"{_NAMES.get(key, key)} was {one} and is {other}"
        for key, one, other in pairs
        if one != other
    ]


# --- Running the trials ---------------------------------------------------------------------------


def grow(
    tasks: Sequence[Task], reference: Reference, *, parallel: int, progress: Progress
) -> Growth:
    """Runs `tasks`, stores new and renewed results, and compares the others with stored results.

    The sources of agents that no trial names any more are removed.
    """
    growth = Growth()
    started = time.monotonic()
    reference.clear_unfinished()
    for number, (task, trial, became, why) in enumerate(_run_all(tasks, parallel), start=1):
        cell, seed = task.job
        if trial is not None:
            became, why = _became(task, trial)
        elif task.old is not None and became == REFUSED:
            became = FAILED  # A stored trial ran before, so a refusal is a difference.
        if became in (NEW, RENEWED) and trial is not None:
            reference.put(cell, seed, trial, task.maker.program)
        growth.note(task.job, became, why)
        progress(task.job, became, why, number, len(tasks))
    reference.prune_agents()
    growth.seconds = time.monotonic() - started
    return growth


def _became(task: Task, trial: ReferenceTrial) -> tuple[str, str]:
    if task.old is None:
        return NEW, ""
    if task.renew:
        return RENEWED, ""
    return (SAME, "") if trial.same_result(task.old) else (DIFFERENT, _difference(task.old, trial))


def _difference(old: ReferenceTrial, new: ReferenceTrial) -> str:
    """The differences of two results, and of their makers."""
    made = "; ".join(changes(old.recipe, new.recipe)) or "made by the same kernel, QEMU and agent"
    if old.digest == new.digest:
        return f"every packet is the same (digest {old.digest}), but the records differ; {made}"
    return f"digest {old.digest} → {new.digest}; {made}"


def _run_all(
    tasks: Sequence[Task], parallel: int
) -> Iterator[tuple[Task, ReferenceTrial | None, str, str]]:
    """Yields each task when it ends, with its trial, or otherwise with its outcome and reason."""
    threads = ThreadPoolExecutor(parallel, thread_name_prefix="validate")
    waiting = iter(tasks)
    running: dict[Future[ReferenceTrial], Task] = {}
    try:
        while True:
            while len(running) < parallel and (task := next(waiting, None)) is not None:
                running[threads.submit(task.run)] = task
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield running.pop(future), *_result(future)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _result(future: Future[ReferenceTrial]) -> tuple[ReferenceTrial | None, str, str]:
    try:
        return future.result(), "", ""
    except RefusedError as error:
        return None, REFUSED, error.problem
    except LabError as error:
        return None, FAILED, error.problem
    except Exception as error:
        return None, FAILED, describe(error)

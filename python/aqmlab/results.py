"""What a campaign found, as tables.

Tables are polars frames, read when they are first asked for. Every row of every table carries
its trial, the varied conditions and the seed. Units are in the columns' names.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab import engines
from aqmlab.failures import RequestError
from aqmlab.labels import Label, label_trials
from aqmlab.store import Folder, Trial

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.verdict import Verdict


class Results:
    """The results of a campaign, finished or not.

    `flows`, `windows`, `rtt`, `apps`, `app_series`, `queues`, `queue_series`, `conns`,
    `tcp_series`, `summary` and `trials` are polars frames; `table(name)` gives any of them.
    """

    def __init__(self, path: Path, owned: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self._folder = Folder(path)
        self._owned = owned  # keeps a temporary folder until nobody needs the results
        self._frames: dict[str, pl.DataFrame] = {}
        self.memo: dict[str, Any] = {}
        """What was derived from the tables and will be wanted again."""
        self.manifest: dict[str, Any] = self._folder.manifest()

    @property
    def path(self) -> Path:
        """The campaign's folder."""
        return self._folder.path

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.manifest["name"])

    @property
    def engine(self) -> str:
        """What ran the trials; several engines are separated by commas."""
        return str(self.manifest.get("engine", "sim"))

    @property
    def made_by(self) -> str:
        """The engine in words, with the versions that the results depend on."""
        return engines.made_by(self.engine, self.manifest["versions"])

    @property
    def digest(self) -> str | None:
        """Stands for every packet of every trial; `None` while trials are missing."""
        return self.manifest.get("digest")

    @property
    def complete(self) -> bool:
        """Whether every trial has a result."""
        return bool(self.manifest["complete"])

    @property
    def failed(self) -> dict[str, str]:
        """The problem of each trial that failed."""
        return dict(self.manifest.get("failed", {}))

    @property
    def warnings(self) -> list[str]:
        """What somebody should know before trusting the results."""
        return list(self.manifest.get("warnings", ()))

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables there are."""
        if "tables" in self.manifest:
            return tuple(self.manifest["tables"])
        return tuple(self._finished.names())

    def table(self, name: str) -> pl.DataFrame:
        """A table by name; raises `RequestError` if there is none."""
        import polars as pl

        if name not in self._frames:
            if name not in self.tables:
                raise RequestError(
                    f"there is no table `{name}`", f"there are {', '.join(self.tables)}"
                )
            path = self._folder.table_path(name)
            if path.is_file() or self.complete:
                self._frames[name] = _read(path)
            else:
                frame = pl.from_arrow(self._finished.table(name))
                assert isinstance(frame, pl.DataFrame)
                self._frames[name] = frame
        return self._frames[name]

    def __getattr__(self, name: str) -> pl.DataFrame:
        """A table, as an attribute."""
        if name.startswith("_") or name in ("manifest", "memo") or name not in self.tables:
            raise AttributeError(name)
        return self.table(name)

    def __dir__(self) -> list[str]:
        """Attributes, tables among them."""
        return [*super().__dir__(), *self.tables]

    def __repr__(self) -> str:
        """Says what it is, in one line."""
        trials = len(self.manifest["trials"])
        state = f"digest {self.digest}" if self.complete else "incomplete"
        return f"Results({self.name}: {trials} trials, {state}, {str(self.path)!r})"

    @cached_property
    def labels(self) -> dict[str, Label]:
        """What each trial is called, by its name."""
        trials = self.manifest["trials"]
        labels = label_trials(trials)
        return {trial["id"]: label for trial, label in zip(trials, labels, strict=True)}

    def labelled(self, name: str) -> pl.DataFrame:
        """A table with the columns `queue_label`, `rate_label`, `rtt_label` and `place_label`."""
        import polars as pl

        frame = self.table(name)
        labels = pl.DataFrame(
            {
                "trial": list(self.labels),
                "queue_label": [label.queue for label in self.labels.values()],
                "rate_label": [label.rate for label in self.labels.values()],
                "rtt_label": [label.rtt for label in self.labels.values()],
                "place_label": [label.place for label in self.labels.values()],
            }
        )
        return frame.join(labels, on="trial", how="left", maintain_order="left")

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Whether each application got what it needs, in each condition."""
        from aqmlab.verdict import judge

        return judge(self)

    def to_json(self) -> list[dict[str, Any]]:
        """One object per trial: conditions, seed, digest, and what each flow experienced."""
        from aqmlab.export import trials_as_json

        return trials_as_json(self)

    def figure(self, name: str) -> Any:
        """The figure called `name`, as a list of drawings (a `matplotlib` figure and a caption).

        Raises `RequestError` if there is none of that name, or if it shows nothing here.
        """
        from aqmlab import figures

        return figures.draw(self, name)

    def report(self, path: Path | str | None = None) -> Path:
        """Writes the report, an HTML page that needs nothing else; returns where it is."""
        from aqmlab.report import write

        return write(self, Path(path) if path is not None else self.path / "report.html")

    @cached_property
    def _finished(self) -> Any:
        from aqmlab.tables import Finished

        return Finished(self._folder, self.recorded_trials())

    def recorded_trials(self) -> Sequence[Trial]:
        """The trials as the manifest has them, without what the simulator was given."""
        return [
            Trial(index, trial["id"], trial["seed"], trial["conditions"], "")
            for index, trial in enumerate(self.manifest["trials"])
        ]

    def spec(self, trial: str) -> dict[str, Any]:
        """What the simulator was given for `trial`."""
        frame = self.table("trials")
        rows = frame.filter(frame["trial"] == trial)
        if rows.is_empty() or not rows["spec"][0]:
            raise RequestError(f"{self.path}: holds no finished trial `{trial}`")
        spec: dict[str, Any] = json.loads(rows["spec"][0])
        return spec


def load(path: Path | str) -> Results:
    """The results in a campaign's folder, also while it is unfinished."""
    return Results(Path(path))


def _read(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise RequestError(
            f"{path}: cannot be read: {reason}",
            "remove the folder and run the campaign again",
        ) from None

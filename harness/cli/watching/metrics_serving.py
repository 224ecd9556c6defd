"""`--metrics-port` of runs and campaigns: their metrics, read from their files when asked for."""

import abc
import contextlib
import pathlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from harness.cli.terminal import outputs
from harness.history import campaign_folders
from harness.live import live_campaigns, live_runs, run_families
from harness.metrics import metric_families, metrics_servers
from harness.run import progressing

READ_S = 5.0
"""Most seconds that reading may take for one answer; the rest is in the next one."""


class Progress:
    """Passes the progress of a run on, and remembers how much of its phase is done."""

    def __init__(self, shown: progressing.Progress) -> None:
        self._shown = shown
        self.amount: tuple[int, int, str] | None = None
        """Done, goal and unit; None: the phase has no amount."""

    def phase(self, name: str) -> None:
        """Note that the run has entered a phase."""
        self.amount = None
        self._shown.phase(name)

    def advance(self, done: int, total: int, unit: str) -> None:
        """Note how much of the phase is done."""
        self.amount = done, total, unit
        self._shown.advance(done, total, unit)

    def note(self, text: str) -> None:
        """Pass a line on."""
        self._shown.note(text)

    def faults(self, active: Sequence[str]) -> None:
        """Pass on which faults are on."""
        self._shown.faults(active)


class Metrics(abc.ABC):
    """Metrics of files, which are read at each request; several may come at once."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._path: pathlib.Path | None = None
        self.close: Callable[[], None] = lambda: None
        """Close all files."""

    def follow(self, path: pathlib.Path) -> None:
        """Read this folder from now on, once its plan is written."""
        self._path = path

    def collect(self) -> list[metric_families.Family]:
        """Return the families, with those of this process."""
        with self._guard:
            found = self._families(self._path) if self._path is not None else ()
            return [*found, *metric_families.process_families()]

    @abc.abstractmethod
    def _families(self, path: pathlib.Path) -> Iterable[metric_families.Family]:
        """Read what has come, and return the families."""


class RunMetrics(Metrics):
    """The metrics of one run."""

    def __init__(self) -> None:
        super().__init__()
        self._run: live_runs.LiveRun | None = None
        self._progress: Progress | None = None

    def passing_on(self, shown: progressing.Progress) -> progressing.Progress:
        """Return the progress to give to the run."""
        self._progress = Progress(shown)
        return self._progress

    def _families(self, path: pathlib.Path) -> Iterable[metric_families.Family]:
        if self._run is None and (path / "plan.json").exists():
            self._run = live_runs.LiveRun(path)
            self.close = self._run.close
        if self._run is not None:
            self._run.read(at_most_s=READ_S)
            yield from run_families.of_runs([self._run])
        if self._progress is not None and self._progress.amount is not None:
            yield from run_families.of_progress(*self._progress.amount)


class CampaignMetrics(Metrics):
    """The metrics of one campaign, and of its runs under way."""

    def __init__(self) -> None:
        super().__init__()
        self._campaign: live_campaigns.LiveCampaign | None = None

    def _families(self, path: pathlib.Path) -> Iterable[metric_families.Family]:
        if self._campaign is None and (path / campaign_folders.PLAN).exists():
            self._campaign = live_campaigns.LiveCampaign(path)
            self.close = self._campaign.close
        if self._campaign is not None:
            self._campaign.read(at_most_s=READ_S)
            yield from run_families.of_campaign(self._campaign.snapshot())
            yield from run_families.of_runs(list(self._campaign.running))


@contextlib.contextmanager
def serving(port: int | None, metrics: Metrics, out: outputs.Output) -> Iterator[None]:
    """Serve metrics on a port and say where, 0: on any; None: serve nothing.

    Raises UsageError if the port is taken.
    """
    with metrics_servers.serving(port, metrics.collect) as chosen:
        if chosen is not None:
            out.note(f"metrics: http://{metrics_servers.HOST}:{chosen}/metrics")
        try:
            yield
        finally:
            metrics.close()

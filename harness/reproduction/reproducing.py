"""Makes a folder with the smallest scenario that still fails from an INVALID run."""

import dataclasses
import pathlib
import tempfile
import time
from collections.abc import Callable

from harness import clocks, errors, rates, writing
from harness.history import directories
from harness.reproduction import (
    attempts,
    issue_texts,
    original_runs,
    scenario_files,
    shrinking,
    specimens,
)
from harness.scenario import imported_pools, profiles, specs

FIRST_RUNS_MAX = 10
"""Runs of the original scenario without a failure, after which it counts as not reproduced."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a reproduction."""

    minutes: float = 10.0
    """Time for the search; the runs that measure the rate come after it."""
    runs_max: int = shrinking.RUNS_MAX
    """Most runs of one candidate."""
    confirmations: int = 20
    """Runs of the smallest scenario that measure its rate."""
    folder: pathlib.Path | None = None
    """Folder to write, new or empty; None: one in `reports`."""
    reports: pathlib.Path = pathlib.Path("reports")
    profile: profiles.Profile | None = None
    """None: that of the original run."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a reproduction."""

    runs: int
    """Number of all runs."""
    scenario: specs.Scenario | None = None
    """The smallest scenario that still fails; None: the original one did not fail again."""
    rate: rates.Rate = dataclasses.field(default_factory=lambda: rates.Rate(0, 0))
    folder: pathlib.Path | None = None
    """None if nothing was reproduced."""
    is_interrupted: bool = False
    """True if the user interrupted the search or the measurement of the rate."""


def reproduce(
    path: pathlib.Path,
    options: Options,
    *,
    note: Callable[[str], None] = shrinking.silent,
    show: Callable[[str], None] = shrinking.silent,
) -> Outcome:
    """Reproduce the INVALID run in this directory.

    `note` gets lines that stay, `show` the state of the moment. Raises UsageError if there is
    nothing to reproduce or it cannot be run here, and InterruptionError if it is interrupted
    before the first failure.
    """
    original = original_runs.load(path)
    if original.caution:
        note(original.caution)
    profile = original_runs.profile_of(original, options.profile)
    folder = _new_folder(original, options)
    with (
        tempfile.TemporaryDirectory(prefix="flake-hunt-reproduce-") as work,
        attempts.Attempts(original, profile, pathlib.Path(work), show=show) as running,
    ):
        session = Session(original.scenario, running.make, options, note)
        is_interrupted = session.run()
        best = session.best
        if best.directory is None and is_interrupted:
            raise errors.InterruptionError(
                "interrupted before the run failed again; nothing written"
            )
        if best.directory is None:
            return Outcome(runs=running.count)
        findings = issue_texts.Findings(
            original=original.scenario,
            scenario=best.scenario,
            rate=best.rate,
            is_interrupted=is_interrupted,
        )
        write(folder, specimens.read(best.directory, original.check.check), findings)
        if original.pool_objects is not None:
            imported_pools.save(original.pool_objects.compressed, folder / directories.POOL_OBJECTS)
    return Outcome(
        runs=running.count,
        scenario=best.scenario,
        rate=best.rate,
        folder=folder,
        is_interrupted=is_interrupted,
    )


class Session:
    """The runs of a reproduction: fail again, shrink, measure the rate."""

    def __init__(
        self,
        scenario: specs.Scenario,
        make: shrinking.Make,
        options: Options,
        note: Callable[[str], None] = shrinking.silent,
    ) -> None:
        self._make, self._options, self._note = make, options, note
        self.best = shrinking.Tally(scenario)
        """The smallest scenario so far, with the runs that measure its rate."""

    def run(self) -> bool:
        """Do all of it; return whether the user interrupted it. `best` is up to date then, too."""
        try:
            self._fail_again()
            if self.best.failed:
                self._confirm(self._search())
        except KeyboardInterrupt:
            return True
        return False

    def _fail_again(self) -> None:
        self._note("running the original scenario until it fails again")
        while not self.best.failed and self.best.runs < FIRST_RUNS_MAX:
            attempt = self._make(self.best.scenario)
            self.best.count(attempt)
            if not attempt.failed:
                self._note(f"  did not fail; {attempt.reason}")
        self._note(f"original: {self.best.rate}")

    def _search(self) -> list[shrinking.Tally]:
        """Shrink; return the accepted scenarios, the smallest one last."""
        ends = time.monotonic() + self._options.minutes * 60
        search = shrinking.Search(
            self.best,
            self._make,
            is_over=lambda: time.monotonic() >= ends,
            runs_max=self._options.runs_max,
            note=self._note,
        )
        try:
            search.run()
        finally:
            self.best = search.best
        if time.monotonic() >= ends:
            self._note("the time for the search is used up (--minutes)")
        return search.trail

    def _confirm(self, trail: list[shrinking.Tally]) -> None:
        """Measure the rate of the smallest scenario; return to a larger one if it is below half.

        Only the last one gets all runs that were planned in any case.
        """
        planned = self._options.confirmations
        for index in reversed(range(len(trail))):
            tally = trail[index]
            fresh = shrinking.Tally(tally.scenario, directory=tally.directory)
            while fresh.runs < planned:
                fresh.count(self._make(fresh.scenario))
                self.best = fresh
                if index and 2 * (fresh.failed + planned - fresh.runs) < planned:
                    break  # whatever the others do
            self._note(f"{'smallest' if index else 'original'}: {fresh.rate}")
            if fresh.rate.share >= 0.5:
                return
            if index:
                self._note("it fails in less than half of its runs: back to the one before")


def write(
    folder: pathlib.Path, specimen: specimens.Specimen, findings: issue_texts.Findings
) -> None:
    """Write the folder. Raises StorageError or UnwritableError if that is not possible."""
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    files = {
        scenario_files.FILE: scenario_files.text(findings.scenario),
        "README.md": issue_texts.of(specimen, findings),
    }
    for name, content in files.items():
        writing.replace(folder / name, content.encode())


def _new_folder(original: original_runs.OriginalRun, options: Options) -> pathlib.Path:
    folder = options.folder
    if folder is None:
        start = clocks.wall_text().replace("-", "").replace(":", "")
        return options.reports / "reproductions" / f"{start}-{original.plan.run_id}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise errors.UsageError(
            f"expected a new or empty folder for the reproduction, got {folder}: name another one"
        )
    return folder

"""One campaign while it goes on: the results that have come, and the runs under way."""

import collections
import os
import pathlib
from collections.abc import Iterable, Iterator

from harness import clocks, errors
from harness.campaign import campaign_plan
from harness.history import campaign_folders, directories, purposes, results
from harness.serving.live import live_runs, snapshots


class LiveCampaign:
    """Follows the folder of one campaign, and the run directories that name it."""

    def __init__(self, path: pathlib.Path) -> None:
        """Raises HistoryError if its plan cannot be read."""
        self._path = path.resolve()
        self._plan = campaign_plan.read(self._path / campaign_folders.PLAN)
        self._known = campaign_folders.read(self._path)
        self._running: dict[pathlib.Path, live_runs.LiveRun] = {}
        self._others: set[str] = set()
        """Run directories that are done, or are no runs of this campaign; by `<scenario>/<run>`."""

    def close(self) -> None:
        """Close all files."""
        for run in self._running.values():
            run.close()

    def read(self, *, at_most_s: float) -> bool:
        """Read what has come, for some time; return whether that was all."""
        self._known = campaign_folders.read(self._path)
        self._find_runs()
        share_s = at_most_s / max(len(self._running), 1)
        were_read = [run.read(at_most_s=share_s) for run in self._running.values()]
        return all(were_read)

    def _find_runs(self) -> None:
        """Follow the new runs of this campaign, and no longer those that have a result."""
        reports = self._path.parent.parent
        done = {_place(path) for path in self._known.runs}
        self._others |= done
        for path in list(self._running):
            if _place(path) in done:
                self._running.pop(path).close()
        for title in {run.title for run in self._plan.runs}:
            for path in _new_runs(reports / title, self._path.name, self._others):
                if path not in self._running:
                    self._follow(path)

    def _follow(self, path: pathlib.Path) -> None:
        try:
            run = live_runs.LiveRun(path)
        except errors.RunDirectoryError:  # its plan is not written yet
            return
        if run.plan is not None and run.plan.campaign == self._path.name:
            self._running[path] = run
        else:
            self._others.add(_place(path))
            run.close()

    def snapshot(self) -> snapshots.Campaign:
        """Return how far the campaign is."""
        running = [run.snapshot() for run in self._running.values()]
        made, planned = self._known.results, self._plan.runs
        controls = {run.number for run in planned if run.purpose is purposes.Purpose.CONTROL}
        hazards = {run.number for run in planned if run.purpose is purposes.Purpose.HAZARD}
        found = {item.number for item in made if item.is_found}
        state, problem = self._state(running)
        return snapshots.Campaign(
            directory=str(self._path),
            seed=self._plan.seed,
            state=state,
            elapsed_s=self._elapsed_s(state, running),
            planned=len(planned),
            done=len({item.number for item in made if not item.is_tried_again}),
            by_verdict=_by_verdict(made),
            controls_planned=len(controls),
            controls_caught=len(controls & found),
            hazards_planned=len(hazards),
            hazards_shown=len(hazards & found),
            rows=list(self._rows()),
            running=running if state in ("starting", "running") else [],
            problem=problem,
            verdict=self._known.verdict,
            reason=self._known.summary,
        )

    def _state(self, running: Iterable[snapshots.Run]) -> tuple[snapshots.State, str]:
        problem = self._known.problem.removeprefix(campaign_folders.OPEN)
        if self._known.verdict:
            return "ended", problem
        is_alive = live_runs.is_alive(
            self._plan.pid,
            self._plan.boot_id,
            since_wall_ns=clocks.wall_ns(),
            newest=self._newest_write(running),
        )
        if not is_alive:
            why = "the process that made the campaign is gone, and left no results.json"
            return "gone", f"{why}: the runs that have a verdict keep it"
        return ("running" if running or self._known.results else "starting"), problem

    def _newest_write(self, running: Iterable[snapshots.Run]) -> float:
        folders = [self._path, *(pathlib.Path(run.directory) for run in running)]
        return max(map(live_runs.newest_write, folders))

    def _elapsed_s(self, state: snapshots.State, running: Iterable[snapshots.Run]) -> float | None:
        begun = self._path / campaign_folders.PLAN
        try:
            begun_s, end_s = begun.stat().st_mtime, clocks.wall_ns() / 1e9
            if state == "ended":
                end_s = (self._path / campaign_folders.DOCUMENT).stat().st_mtime
            elif state == "gone":
                end_s = self._newest_write(running)
        except OSError:
            return None
        return round(max(end_s - begun_s, 0.0), 1)

    def _rows(self) -> Iterator[snapshots.CampaignRow]:
        """Yield a row for each kind of run of the plan, in the order of the purposes."""
        planned = collections.Counter(run.kind for run in self._plan.runs)
        rows = {row.kind: row for row in results.rows(self._known.results)}
        for kind in sorted(planned, key=lambda kind: list(purposes.Purpose).index(kind[0])):
            purpose, scenario, subject, _ = kind
            row = rows.get(kind) or results.Row(scenario=scenario, subject=subject)
            yield snapshots.CampaignRow(
                purpose=purpose.value,
                scenario=scenario,
                subject=subject,
                planned=planned[kind],
                runs=len(row.runs),
                by_verdict=_by_verdict(row.runs),
                found=row.caught,
                double_allocations=row.double_allocations,
            )


def _by_verdict(found: Iterable[results.RunResult]) -> dict[str, int]:
    return dict(collections.Counter(str(item.verdict or "ERROR") for item in found))


def _place(path: pathlib.Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _new_runs(folder: pathlib.Path, campaign: str, known: set[str]) -> Iterator[pathlib.Path]:
    """Yield the runs of a scenario that began after a campaign: their names begin with the time."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
    except OSError:  # the first run of the scenario has not begun
        return
    since = campaign.partition("-")[0]
    for name in sorted(names):
        is_new = name >= since and f"{folder.name}/{name}" not in known
        if is_new and (folder / name / directories.RunDirectory(folder).plan.name).is_file():
            yield folder / name

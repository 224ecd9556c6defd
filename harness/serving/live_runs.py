"""Follows one run while it goes on: folds what its processes journal, and shows how far it is.

The holds are those that the checks see; none of it is a verdict.
"""

import array
import collections
import contextlib
import pathlib
import time
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from harness import clocks, errors
from harness.checks import run_figures
from harness.checks.holds import hold_history
from harness.checks.observed import folders, observations
from harness.history import directories, journal_reader, plans, records, run_folders, subject_names
from harness.serving import snapshots

WINDOW_S = 5
"""Whole seconds over which a present rate is taken."""


class ApiCalls:
    """All calls of a run; `see` takes the records of one process after the other."""

    def __init__(self) -> None:
        self.outcomes = collections.Counter[str]()
        self.took_ns = array.array("q")
        self.open: dict[tuple[str, int], int] = {}
        """Process and number of each call without an answer so far, with its begin."""
        self._by_second = collections.Counter[int]()
        """Calls that ended, by seconds of the clock of the records."""

    def see(self, process: str, record: records.Invocation | records.Completion) -> None:
        if isinstance(record, records.Invocation):
            self.open[process, record.op] = record.ts_ns
        elif (begun_ns := self.open.pop((process, record.op), None)) is not None:
            self._by_second[record.ts_ns // 10**9] += 1
            self.outcomes[record.outcome] += 1
            self.took_ns.append(record.ts_ns - begun_ns)

    def ended(self) -> snapshots.Calls:
        latency = run_figures.latency(self.took_ns)
        return snapshots.Calls(
            calls=self.outcomes.total(),
            ok=self.outcomes["ok"],
            fail=self.outcomes["fail"],
            unknown=self.outcomes["unknown"],
            p50_ms=latency.p50_ms,
            p99_ms=latency.p99_ms,
        )

    def rate(self, now_ns: int | None) -> float:
        """Return calls per second in the last whole seconds before `now_ns`; None: on average."""
        if now_ns is not None:
            seconds = range(now_ns // 10**9 - WINDOW_S, now_ns // 10**9)
            return sum(self._by_second[second] for second in seconds) / WINDOW_S
        if not self._by_second:
            return 0.0
        span_s = max(self._by_second) - min(self._by_second) + 1
        return self._by_second.total() / span_s


SILENT_S = 5.0
"""Seconds without a write after which a process that cannot be found counts as dead: it may be one
of another container."""
AWAY_S = 60.0
"""The same if the process would be on another host, or was before a restart of this one."""


def _is_running(pid: int, since_wall_ns: int) -> bool:
    """Return whether there is a process of this number that is not younger than its work."""
    import psutil  # 20 ms

    try:
        process = psutil.Process(pid)
        is_dead = process.status() == psutil.STATUS_ZOMBIE
        return not is_dead and process.create_time() <= since_wall_ns / 1e9 + 1
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _newest_write(folder: pathlib.Path) -> float:
    """Return the time of the newest write to a file of a folder, in seconds since 1970."""
    newest = 0.0
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # it was removed meanwhile
            newest = max(newest, path.stat().st_mtime)
    return newest


_BATCH = 500
"""Records between two looks at the clock."""


class LiveRun:
    """Follows one run directory."""

    def __init__(self, path: pathlib.Path) -> None:
        """Raises RunDirectoryError if the path is no run directory."""
        self._directory = directories.RunDirectory(path.resolve())
        self._known = run_folders.read(self._directory.path)
        self._calls = ApiCalls()
        self._folded = hold_history.HoldHistory()
        self._doubles = (0, 0)
        """The number of holds when it was counted last, and of double allocations then."""
        self._faults_applied = 0
        self._phase = "starting the cluster"
        self._processes: set[tuple[str, int]] = set()
        self._tails: dict[pathlib.Path, journal_reader.Tail] = {}
        self._is_read = False

    @property
    def plan(self) -> plans.Plan | None:
        """The plan; None: it is damaged."""
        return self._known.plan

    def close(self) -> None:
        for tail in self._tails.values():
            tail.close()

    def read(self, *, at_most_s: float) -> bool:
        """Read what has come, for some time; return whether that was all."""
        until = time.monotonic() + at_most_s
        with contextlib.closing(self._see_new()) as seen:
            for count, _ in enumerate(seen):
                if count % _BATCH == 0 and time.monotonic() > until:
                    self._is_read = False
                    return False
        self._is_read = True
        return True

    def _see_new(self) -> Generator[None, None, None]:
        """See every record that has come; yield after each, and lose none if it ends there."""
        steps = self._directory.all_steps()
        for path in self._directory.journals():
            if path in steps:
                continue
            plain = directories.plain_form(path)
            tail = self._tails.get(plain)
            if tail is None or tail.is_lost:
                is_recorder = path.name.startswith("observations")
                decode = _decode if is_recorder else None
                tail = self._tails[plain] = journal_reader.Tail(path, decode=decode)
            for record in tail.new():
                self._see(tail, record)
                yield

    def _see(self, tail: journal_reader.Tail, record: object) -> None:
        match record:
            case records.Invocation() | records.Completion():
                self._calls.see(tail.path.name, record)
            case records.Phase():
                self._phase = record.name
            case records.ProcessStarted():
                self._processes.add((record.process, record.pid))
            case records.ProcessEnded():
                self._processes.discard((record.process, record.pid))
            case records.FaultApplied():
                self._faults_applied += 1
            case records.Gap():
                self._folded.see_gap(record)
            case records.Listed():
                self._folded.see_list(record)
            case observations.Seen() if record.type != "FINAL":
                self._folded.see_batch(folders.Batch([record]))

    def snapshot(self) -> snapshots.Run:
        if self._known.state is not run_folders.State.JUDGED:
            self._known = run_folders.read(self._directory.path)
        state, problem = self._state()
        plan, verdict = self._known.plan, self._known.verdict
        goes_on = state in ("starting", "running") and (
            plan is not None and plan.boot_id == clocks.boot_id()
        )
        folded, claims, pods = (
            self._folded,
            self._folded.claims.values(),
            self._folded.pods.values(),
        )
        return snapshots.Run(
            directory=str(self._directory.path),
            run_id=plan.run_id if plan else "",
            scenario=plan.scenario if plan else "",
            subject=subject_names.of_plan(plan) if plan else "",
            seed=plan.seed if plan else 0,
            campaign=plan.campaign if plan else "",
            state=state,
            phase="" if state == "ended" else "judging" if state == "judging" else self._phase,
            elapsed_s=round(self._elapsed_s(state), 1),
            is_read=self._is_read,
            api_calls=self._calls.ended(),
            api_calls_open=len(self._calls.open),
            api_calls_per_s=round(self._calls.rate(clocks.monotonic_ns() if goes_on else None), 1),
            claims=len(folded.stream(hold_history.CLAIMS).live),
            claims_created=len(claims),
            claims_allocated=_ready(claims),
            claim_to_allocation=run_figures.latency(life.waited_ns for life in claims),
            pods=len(folded.stream(hold_history.PODS).live),
            pods_created=len(pods),
            pods_ran=_ready(pods),
            pod_to_running=run_figures.latency(life.waited_ns for life in pods),
            allocations=len(folded.holds),
            holds_open=folded.holds.open_count,
            double_allocations=self._double_allocations(),
            faults_applied=self._faults_applied,
            processes=len(self._processes),
            problem=problem,
            verdict=str(verdict.verdict) if verdict else "",
            reason=verdict.reason if verdict else "",
        )

    def _double_allocations(self) -> int:
        """Return how many there are; a device whose shares are held may be shared."""
        holds = self._folded.holds
        if len(holds) != self._doubles[0]:
            from harness.checks.holds import double_allocations  # imports pandas

            table = holds.frame(end_rv=self._folded.last_rv + 1)
            found = double_allocations.find(double_allocations.examined(table, lambda _: True))
            self._doubles = len(holds), found.total
        return self._doubles[1]

    def _state(self) -> tuple[snapshots.State, str]:
        """Return the state, and why nothing more comes or is read, if so."""
        damage = next((tail.damage for tail in self._tails.values() if tail.damage), "")
        if self._known.state is run_folders.State.JUDGED:
            return "ended", damage
        if self._known.state is run_folders.State.DAMAGED:
            return "damaged", self._known.problem
        if not self._is_alive():
            why = "the process that made the run is gone, and left no verdict"
            return "gone", f"{why}: `flake-hunt check` judges what there is"
        if self._directory.manifest.exists():
            return "judging", damage
        return ("running" if self._tails else "starting"), damage

    def _is_alive(self) -> bool:
        plan = self._known.plan
        if plan is None:
            return True
        silent_s = clocks.wall_ns() / 1e9 - _newest_write(self._directory.path)
        if not plan.pid or plan.boot_id != clocks.boot_id():
            return silent_s < AWAY_S
        return silent_s < SILENT_S or _is_running(plan.pid, plan.created_wall_ns)

    def _elapsed_s(self, state: snapshots.State) -> float:
        if self._known.plan is None:
            return 0.0
        end_s = clocks.wall_ns() / 1e9
        if state == "ended":
            end_s = self._directory.verdict.stat().st_mtime
            if self._directory.manifest.exists():  # the verdict may be of a later `check`
                end_s = self._directory.manifest.stat().st_mtime
        elif state in ("gone", "damaged"):
            end_s = _newest_write(self._directory.path)
        return max(end_s - self._known.plan.created_wall_ns / 1e9, 0.0)


def _ready(lives: Iterable[hold_history.Life]) -> int:
    return sum(life.ready_ns is not None for life in lives)


def _decode(lines: Sequence[bytes]) -> list[Any]:
    try:
        return observations.decode_lines(lines)
    except observations.ObjectError as error:
        raise errors.HistoryError(str(error)) from error

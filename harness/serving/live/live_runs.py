"""Follows one run while it goes on: reads what its processes journal, and shows how far it is."""

import collections
import contextlib
import pathlib
import time
from collections.abc import Generator
from typing import TypeAlias

from harness import clocks
from harness.history import directories, journal_tails, records, run_folders
from harness.serving.live import durations, observed_objects, snapshots

WINDOW_S = 5
"""Whole seconds over which a present rate is taken."""
Key: TypeAlias = tuple[str, str]
"""Verb, and resource with its subresource."""
_OUTCOMES: tuple[records.Outcome, ...] = ("ok", "fail", "unknown")


class Calls:
    """The calls of one verb and resource."""

    def __init__(self) -> None:
        self.by_outcome: dict[str, int] = dict.fromkeys(_OUTCOMES, 0)
        self.durations = durations.Durations()

    @property
    def count(self) -> int:
        """The number of calls that have ended."""
        return sum(self.by_outcome.values())


class ApiCalls:
    """All calls of a run; `see` takes the records of one process after the other."""

    def __init__(self) -> None:
        self.by_key: dict[Key, Calls] = collections.defaultdict(Calls)
        self._open: dict[tuple[str, int], records.Invocation] = {}
        """Keyed by the process and the number of the operation."""
        self._by_second: collections.Counter[int] = collections.Counter()
        """Calls that ended in one of the last seconds of the monotonic clock."""
        self._newest_s = 0
        self._first_ns: int | None = None
        self._last_ns = 0

    @property
    def open(self) -> int:
        """The number of calls without an answer so far."""
        return len(self._open)

    @property
    def total(self) -> Calls:
        """All calls together."""
        found = Calls()
        for calls in self.by_key.values():
            found.durations.merge(calls.durations)
            for outcome, count in calls.by_outcome.items():
                found.by_outcome[outcome] += count
        return found

    def see(self, process: str, record: object) -> None:
        if isinstance(record, records.Invocation):
            self._open[process, record.op] = record
            if self._first_ns is None:
                self._first_ns = record.ts_ns
        elif isinstance(record, records.Completion):
            begun = self._open.pop((process, record.op), None)
            if begun is not None:
                self._end(begun, record)

    def _end(self, begun: records.Invocation, end: records.Completion) -> None:
        calls = self.by_key[begun.verb, begun.resource]
        calls.by_outcome[end.outcome] += 1
        calls.durations.add(end.ts_ns - begun.ts_ns)
        second = end.ts_ns // 1_000_000_000
        self._last_ns = max(self._last_ns, end.ts_ns)
        self._newest_s = max(self._newest_s, second)
        self._by_second[second] += 1
        if len(self._by_second) > 4 * WINDOW_S:
            for old in [item for item in self._by_second if item < self._newest_s - 2 * WINDOW_S]:
                del self._by_second[old]

    def rate(self, now_ns: int | None) -> float:
        """Return calls per second in the last whole seconds before `now_ns`; None: on average.

        `now_ns` is on the clock of the records.
        """
        if now_ns is None:
            span_s = (self._last_ns - (self._first_ns or 0)) / 1e9
            return sum(item.count for item in self.by_key.values()) / span_s if span_s > 0 else 0.0
        now_s = now_ns // 1_000_000_000
        return sum(self._by_second[now_s - ago] for ago in range(1, WINDOW_S + 1)) / WINDOW_S


SILENT_S = 5.0
"""Seconds without a write after which a process that cannot be found counts as dead: it may be one
of another container."""
AWAY_S = 60.0
"""The same if the process would be on another host, or was before a restart of this one."""


def is_alive(pid: int, boot_id: str, *, since_wall_ns: int, newest: float) -> bool:
    """Return whether a process that began at a time of the wall clock seems to live.

    `pid` 0: it is not known. `newest`: time of its newest write, in seconds since 1970.
    """
    silent_s = clocks.wall_ns() / 1e9 - newest
    if not pid or boot_id != clocks.boot_id():
        return silent_s < AWAY_S
    return silent_s < SILENT_S or _is_running(pid, since_wall_ns)


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


def newest_write(folder: pathlib.Path) -> float:
    """Return the time of the newest write to a file of a folder, in seconds since 1970."""
    newest = 0.0
    for path in folder.iterdir():
        try:
            newest = max(newest, path.stat().st_mtime)
        except OSError:  # it was removed meanwhile
            continue
    return newest


_BATCH = 500
"""Records between two looks at the clock."""
_ROWS = 50
"""Most verbs and resources in a snapshot."""


class LiveRun:
    """Follows one run directory; memory grows with what exists at a time, not with the run."""

    def __init__(self, path: pathlib.Path) -> None:
        """Raises RunDirectoryError if the path is no run directory."""
        self._directory = directories.RunDirectory(path.resolve())
        self._known = run_folders.read(self._directory.path)
        self.calls = ApiCalls()
        self.objects = observed_objects.ObservedObjects()
        self.faults_applied = 0
        self.phase, self.phase_since_ns = "starting the cluster", 0
        """The phase, and when it began on the clock of the records; 0: before the first one."""
        self._processes: set[tuple[str, int]] = set()
        self._tails: dict[pathlib.Path, journal_tails.Tail] = {}
        self._is_read = False

    @property
    def plan(self) -> run_folders.Plan | None:
        """The plan; None: it is damaged."""
        return self._known.plan

    def close(self) -> None:
        """Close all files."""
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
                decode = observed_objects.decode if is_recorder else None
                tail = self._tails[plain] = journal_tails.Tail(path, decode=decode)
            for record in tail.new():
                self._see(tail, record)
                yield

    def _see(self, tail: journal_tails.Tail, record: object) -> None:
        match record:
            case records.Invocation() | records.Completion():
                self.calls.see(tail.path.name, record)
            case records.Phase():
                self.phase, self.phase_since_ns = record.name, record.ts_ns
            case records.ProcessStarted():
                self._processes.add((record.process, record.pid))
            case records.ProcessEnded():
                self._processes.discard((record.process, record.pid))
            case records.FaultApplied():
                self.faults_applied += 1
            case _:
                self.objects.see(record)

    def snapshot(self) -> snapshots.Run:
        """Return how far the run is."""
        if self._known.state is not run_folders.State.JUDGED:
            self._known = run_folders.read(self._directory.path)
        state, problem = self._state()
        plan, verdict = self._known.plan, self._known.verdict
        goes_on = state in ("starting", "running") and (
            plan is not None and plan.boot_id == clocks.boot_id()
        )
        rows = sorted(self.calls.by_key.items(), key=lambda item: -item[1].count)
        return snapshots.Run(
            directory=str(self._directory.path),
            run_id=plan.run_id if plan else "",
            scenario=plan.scenario if plan else "",
            subject=plan.subject_name if plan else "",
            seed=plan.seed if plan else 0,
            campaign=plan.campaign if plan else "",
            state=state,
            phase="" if state == "ended" else "judging" if state == "judging" else self.phase,
            elapsed_s=round(self._elapsed_s(state), 1),
            is_read=self._is_read,
            api_calls=_calls("", "", self.calls.total),
            api_calls_open=self.calls.open,
            api_calls_per_s=round(self.calls.rate(clocks.monotonic_ns() if goes_on else None), 1),
            by_call=[_calls(*key, calls) for key, calls in rows[:_ROWS]],
            claims=len(self.objects.claims.present),
            claims_created=self.objects.claims.created,
            claims_allocated=self.objects.claims.reached,
            claim_to_allocation=_quantiles(self.objects.claims),
            pods=len(self.objects.pods.present),
            pods_created=self.objects.pods.created,
            pods_ran=self.objects.pods.reached,
            pod_to_running=_quantiles(self.objects.pods),
            allocations=self.objects.allocations,
            holds_open=self.objects.holds_open,
            double_allocations=self.objects.double_allocations,
            faults_applied=self.faults_applied,
            processes=len(self._processes),
            problem=problem,
            verdict=str(verdict.verdict) if verdict else "",
            reason=verdict.reason if verdict else "",
        )

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
        return plan is None or is_alive(
            plan.pid,
            plan.boot_id,
            since_wall_ns=plan.created_wall_ns,
            newest=newest_write(self._directory.path),
        )

    def _elapsed_s(self, state: snapshots.State) -> float:
        if self._known.plan is None:
            return 0.0
        end_s = clocks.wall_ns() / 1e9
        if state == "ended":
            end_s = self._directory.verdict.stat().st_mtime
            if self._directory.manifest.exists():  # the verdict may be of a later `check`
                end_s = self._directory.manifest.stat().st_mtime
        elif state in ("gone", "damaged"):
            end_s = newest_write(self._directory.path)
        return max(end_s - self._known.plan.created_wall_ns / 1e9, 0.0)


def _calls(verb: str, resource: str, calls: Calls) -> snapshots.Calls:
    return snapshots.Calls(
        verb=verb,
        resource=resource,
        calls=calls.count,
        ok=calls.by_outcome["ok"],
        fail=calls.by_outcome["fail"],
        unknown=calls.by_outcome["unknown"],
        p50_ms=calls.durations.quantile_ms(0.5),
        p99_ms=calls.durations.quantile_ms(0.99),
    )


def _quantiles(kind: observed_objects.Kind) -> snapshots.Quantiles:
    waits = kind.waits
    return snapshots.Quantiles(p50_ms=waits.quantile_ms(0.5), p99_ms=waits.quantile_ms(0.99))

"""The goals of a run, and violations that end it, seen live by watches or in the record so far.

Nothing here is a verdict: a run that ends because of something seen here is judged from its
directory like any other.
"""

import math

import msgspec

from harness import clocks, concurrency
from harness.checks import device_exclusivity, judging
from harness.checks.devices import device_consumption
from harness.checks.evidence import journal_totals
from harness.checks.holds import live_spotter
from harness.checks.observed import observed_claims
from harness.checks.progress import stuck_objects, world_states
from harness.client import informers
from harness.history import directories, histories, plans
from harness.model.objects import Object
from harness.run.defects import known_defects
from harness.scenario import specs, traffic_specs

QUIET_S = 1.5
"""Seconds without a change of any claim after which the cluster is at rest: what this
watch sees may be late."""
MARGIN_S = 1.0
"""Seconds to wait beyond the plan's `progress_s`: the recorder sees a change later than this watch,
or earlier, and counts from then."""
LOOK_S = 1.0
"""Seconds between two looks into the record of a run, at least."""
LOOK_SHARE = 4
"""Nothing is looked at for this many times as long as the last look took."""
msgspec.json.Decoder(observed_claims.Allocation)  # describes it before threads convert to it


def pods_for_load(scenario: specs.Scenario) -> int:
    """Return the number of pods that must have run to satisfy the scenario's `load`.

    It is large enough whatever devices the pods got, because all their claims were allocated: the
    one that several pods share, or the several ones of a pod.
    """
    load, traffic = scenario.load, scenario.traffic
    if isinstance(traffic, traffic_specs.LimitTraffic):
        return traffic.pods
    reused = load.reuse_min + scenario.pools.device_count if load.reuse_min else 0
    claims = max(load.allocations_min, reused)
    if isinstance(traffic, traffic_specs.ObjectsTraffic):
        shares = [one.pods_per_claim for one in scenario.object_sets]
        return max(load.pods_running_min, math.ceil(claims * max(shares)))
    pods = claims * getattr(traffic, "pods_per_claim", 1)
    return max(load.pods_running_min, math.ceil(pods / getattr(traffic, "claims_per_pod", 1)))


class LoadTime:
    """The time of a load that has not reached its goal yet."""

    def __init__(self, longest_s: float) -> None:
        """`longest_s`: the time that the scenario gives it; 0: it gives none."""
        self._longest_s, self._begun_s, self._first_s = longest_s, 0.0, 0.0

    def is_up(self, ran: int, enough: int) -> bool:
        """Return whether the load has to end, with this number of pods that ran, of those it needs.

        A slow cluster gets more time, if that will do: LONGER_FOR_LOAD times as long at most. How
        fast it is follows from the time since the first pod ran.
        """
        now_s = concurrency.monotonic_s()
        self._begun_s = self._begun_s or now_s
        self._first_s = self._first_s or now_s * bool(ran)
        passed_s, longest_s = now_s - self._begun_s, self._longest_s or math.inf
        left_s = traffic_specs.LONGER_FOR_LOAD * longest_s - passed_s
        running_s = now_s - self._first_s
        is_too_slow = ran * left_s < (enough - ran) * running_s
        return left_s < 0 or (passed_s > longest_s and is_too_slow)


class PoolChangeGoal:
    """Checks that the pools have changed as often as the scenario demands."""

    def __init__(self, plan: plans.Plan, directory: directories.RunDirectory) -> None:
        self._plan, self._directory = plan, directory
        self._is_reached = not plan.pool_changes

    def is_reached(self) -> bool:
        if not self._is_reached:
            history = histories.History(self._directory, self._plan)
            made = journal_totals.read_pools(history).totals.made
            wanted = self._plan.pool_changes.items()
            self._is_reached = all(made.get(name, 0) >= least for name, least in wanted)
        return self._is_reached


class PodCounter(informers.StateHandler):
    """Counts the pods of the run's namespace: existing, Running, and ever Running."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("pod-counter")
        self._running: set[str] = set()
        self._present: set[str] = set()
        self.ran = 0

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def present(self) -> int:
        return len(self._present)

    def on_state(self, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        with self._guard:
            self._present.add(uid)
            if obj.get("status", {}).get("phase") == "Running" and uid not in self._running:
                self._running.add(uid)
                self.ran += 1

    def on_delete(self, last: Object) -> None:
        uid = last["metadata"]["uid"]
        with self._guard:
            self._present.discard(uid)
            self._running.discard(uid)


# ------------------------------------------------------------------------------- at rest


class Convergence:
    """The states of pods, claims and slices, by which it finds what could still go on."""

    def __init__(self, plan: plans.Plan) -> None:
        self._settings = plan.settings
        self._is_collected = plan.collects_garbage is not False
        self._guard = concurrency.lock("convergence")
        self._state = world_states.WorldState()
        self._changes = 0
        self._known: tuple[int, int] = (-1, 0)
        """The number of changes before the last search, and what it found."""

    def handler(self, plural: str) -> informers.StateHandler:
        return _Events(self, world_states.TYPES[plural])

    def still_s(self, since_ns: int) -> float:
        """Return the seconds since the last progress, or since `since_ns` if that was later."""
        return (clocks.monotonic_ns() - max(since_ns, self._state.moved_ns)) / 1e9

    def is_at_rest(self) -> bool:
        quiet_ns = clocks.monotonic_ns() - self._state.claims_changed_ns
        return quiet_ns >= QUIET_S * 1e9 and self.pending == 0

    @property
    def pending(self) -> int:
        with self._guard:
            if self._known[0] != self._changes:
                pods = stuck_objects.find_pods(self._state, self._settings)
                leaks = stuck_objects.find_claims(self._state).stuck
                going = [item for item in leaks if self._is_collected or not item.is_garbage]
                self._known = self._changes, len(pods.stuck) + len(going) + len(pods.doubts)
            return self._known[1]

    def note(self, obj: world_states.Object, *, gone: bool) -> None:
        with self._guard:
            self._changes += 1
            self._state.note(obj, clocks.monotonic_ns(), is_gone=gone)


class _Events(informers.StateHandler):
    def __init__(self, watch: Convergence, kind: type[world_states.Object]) -> None:
        self._watch, self._kind = watch, kind
        msgspec.json.Decoder(kind)  # describes the type before threads convert to it

    def on_state(self, obj: Object) -> None:
        self._watch.note(msgspec.convert(obj, self._kind), gone=False)

    def on_delete(self, last: Object) -> None:
        self._watch.note(msgspec.convert(last, self._kind), gone=True)


# ----------------------------------------------------------------------------- violations


class DoubleAllocationSpotter(informers.StateHandler):
    """Watches for a device in two claims at once."""

    def __init__(self) -> None:
        self._spotter = live_spotter.Spotter()

    @property
    def found(self) -> str | None:
        return self._spotter.found[0] if self._spotter.found else None

    def on_state(self, obj: Object) -> None:
        self._spotter.note(obj["metadata"]["uid"], obj)

    def on_delete(self, last: Object) -> None:
        self._spotter.note(last["metadata"]["uid"], None)


class RecordSpotter:
    """Asks the judge now and then what it would find in the record so far.

    For violations other than double allocations. The journals of a run are written side by side, so
    what is found must be found again in the next look.
    """

    def __init__(self, directory: directories.RunDirectory) -> None:
        self._directory = directory
        self._due_ns = 0
        self._before: set[tuple[object, ...]] = set()
        self._found: str | None = None

    @property
    def found(self) -> str | None:
        now_ns = clocks.monotonic_ns()
        if self._found is None and now_ns >= self._due_ns:
            self._look()
            ended_ns = clocks.monotonic_ns()
            pause_ns = 0 if self._before else LOOK_SHARE * (ended_ns - now_ns)
            self._due_ns = ended_ns + max(int(LOOK_S * 1e9), pause_ns)
        return self._found

    def _look(self) -> None:
        seen = {
            (
                violation.guarantee,
                tuple(item.uid for item in violation.objects),
                tuple(violation.resource_versions),
            ): violation.summary
            for violation in judging.violations_so_far(self._directory)
            if violation.guarantee != device_exclusivity.CHECK.name
        }
        again = [summary for key, summary in seen.items() if key in self._before]
        self._found = next(iter(again), None)
        self._before = set(seen)


Spotter = DoubleAllocationSpotter | RecordSpotter


def spotters(plan: plans.Plan, directory: directories.RunDirectory) -> list[Spotter]:
    """Return the spotters of a run; none if it does not end at the first violation."""
    if not plan.until_found:
        return []
    if known_defects.show_otherwise(plan.defects):
        return [RecordSpotter(directory)]
    has_amounts = device_consumption.CHECK.applies(plan)
    return [DoubleAllocationSpotter(), *([RecordSpotter(directory)] if has_amounts else [])]

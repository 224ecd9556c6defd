"""The goals of a run, measured live from the API server's watches.

Nothing here is a verdict: a run that ends because of something seen here is judged from its
directory like any other.
"""

import math
from typing import Any

from harness import concurrency
from harness.checks.evidence import journal_totals
from harness.client import informers
from harness.history import directories, histories, plans
from harness.scenario import specs, traffic_specs


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

    def on_state(self, obj: dict[str, Any]) -> None:
        uid = obj["metadata"]["uid"]
        with self._guard:
            self._present.add(uid)
            if obj.get("status", {}).get("phase") == "Running" and uid not in self._running:
                self._running.add(uid)
                self.ran += 1

    def on_delete(self, last: dict[str, Any]) -> None:
        uid = last["metadata"]["uid"]
        with self._guard:
            self._present.discard(uid)
            self._running.discard(uid)

"""The check of existence: what is allocated is in the newest generation of a complete, valid pool.

The API promises (resource.k8s.io/v1, ResourcePool.generation): "Consumers of ResourceSlices should
only consider resources from the pool with the highest generation number", and that consumers can
detect pools "in an incomplete state" by the number of their slices (resourceSliceCount).

A scheduler sees slices late, so a device may rightly be allocated for a while after it was
withdrawn or its generation was replaced. It is wrong if the device could not be allocated in any
version that the scheduler could have seen: from the version that its slice tracker had certainly
dealt with when the attempt began, which the steps of a Python scheduler show, or else from the
version that there was `LAG_S` before, up to the allocation. In runs with faults a scheduler may lag
by any time; there only a device that no slice has ever listed is wrong.
"""

from collections.abc import Mapping

import numpy as np

from harness.checks import protocol, verdicts
from harness.checks.devices import allocation_judging, allocations, pool_timelines
from harness.checks.observed import observations
from harness.checks.taints import attempt_views
from harness.history import plans

LAG_S = 60.0
"""Seconds by which a scheduler without faults may lag; attempts are thousands of times faster."""


CHECK = protocol.Check(
    name="existing_devices",
    guarantee="N",
    promise="every allocated device is in the newest generation of a complete and valid pool",
    applies=allocation_judging.applies,
    needs=(
        allocation_judging.Questions,
        pool_timelines.PoolTimelines,
        attempt_views.AttemptViews,
    ),
    judge=lambda evidence: check(
        evidence[allocation_judging.Questions],
        evidence[pool_timelines.PoolTimelines],
        evidence[attempt_views.AttemptViews],
        evidence.plan,
    ),
)


def check(
    questions: allocation_judging.Questions,
    timelines: pool_timelines.PoolTimelines,
    views: Mapping[str, attempt_views.View],
    plan: plans.Plan,
) -> verdicts.Answer:
    """Return INVALID with the devices that were not there; NotExamined if there is nothing."""
    if timelines.has_gap:
        why = f"versions of {observations.SLICES} may be missing"
        return allocation_judging.not_examined(CHECK, why)
    judge = _Judge(questions.made, timelines, views, may_lag_forever=bool(plan.faults))
    return allocation_judging.result(
        CHECK, questions, judge.findings(), good="all devices were there"
    )


class _Judge:
    """Judges each allocation with what its scheduler could have seen."""

    def __init__(
        self,
        made: allocations.Allocations,
        timelines: pool_timelines.PoolTimelines,
        views: Mapping[str, attempt_views.View],
        *,
        may_lag_forever: bool,
    ) -> None:
        self._made, self._timelines, self._views = made, timelines, views
        self._may_lag_forever = may_lag_forever

    def findings(self) -> allocation_judging.Findings:
        """Return the answers about all allocations; only those in doubt are looked at."""
        numbers = np.array(self._made.grant_numbers, dtype=np.int64)
        sure = np.array([self._sure_since(grant) for grant in self._made.grants], dtype=np.float64)
        doubted = np.array(self._made.versions, dtype=np.int64)
        rows = np.flatnonzero(doubted <= sure[numbers]) if len(numbers) else numbers
        all_good = allocation_judging.Findings([None], np.zeros(len(numbers), dtype=np.int64))
        return all_good.replaced(rows, self._answer)

    def _sure_since(self, grant: allocations.Grant) -> float:
        since = 0.0
        for result in grant.results:
            spans = self._timelines.spans(result.id)
            if not spans or spans[-1].until is not None:
                return float("inf")
            since = max(since, spans[-1].since)
        return since

    def _answer(self, row: int) -> allocation_judging.Answer:
        grant = self._made.grant(row)
        wrong = [result.id for result in grant.results if not self._could_be_there(result.id, row)]
        if not wrong:
            return None
        seen = attempt_views.slices_of(self._views, self._made.claims[row].uid)
        since = f" from version {seen} of the slices on" if seen else ""
        return allocation_judging.Wrong(
            f"{', '.join(dict.fromkeys(wrong))} could not be allocated in any version that the "
            f"scheduler could have seen{since}",
            weight=len(wrong),
        )

    def _could_be_there(self, device: str, row: int) -> bool:
        version = self._made.versions[row]
        if self._may_lag_forever:
            return self._timelines.listed_since.get(device, version) < version
        seen = attempt_views.slices_of(self._views, self._made.claims[row].uid)
        until_ns = self._made.times_ns[row] - int(LAG_S * 1e9)
        return any(
            span.since < version
            and (span.until is None or span.until > seen)
            and (span.until_ns is None or span.until_ns >= until_ns)
            for span in self._timelines.spans(device)
        )

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

import math

import numpy as np

from harness.checks import protocol, verdicts
from harness.checks.devices import allocation_judging, allocations, pool_timelines
from harness.checks.observed import observations
from harness.checks.taints import attempt_views

LAG_S = 60.0
"""Seconds by which a scheduler without faults may lag; attempts are thousands of times faster."""


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with the devices that were not there; NotExamined if there is nothing."""
    questions = evidence[allocation_judging.Questions]
    timelines = evidence[pool_timelines.PoolTimelines]
    if timelines.has_gap:
        why = f"versions of {observations.SLICES} may be missing"
        return allocation_judging.not_examined(CHECK, why)
    views, has_faults = evidence[attempt_views.AttemptViews], bool(evidence.plan.faults)
    judge = _Judge(questions, timelines, views, may_lag_forever=has_faults)
    return allocation_judging.result(
        CHECK, questions, judge.answers(), good="all devices were there"
    )


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
    judge=judge,
)


class _Judge:
    """Judges each allocation with what its scheduler could have seen."""

    def __init__(
        self,
        questions: allocation_judging.Questions,
        timelines: pool_timelines.PoolTimelines,
        views: attempt_views.AttemptViews,
        *,
        may_lag_forever: bool,
    ) -> None:
        self._questions, self._made = questions, questions.made
        self._timelines, self._views = timelines, views
        self._may_lag_forever = may_lag_forever

    def answers(self) -> allocation_judging.Answers:
        """Return the answers about all allocations; only those in doubt are looked at."""
        sure = np.array([self._sure_since(grant) for grant in self._made.grants], dtype=np.float64)
        numbers = self._questions.numbers
        rows = np.flatnonzero(self._questions.versions <= sure[numbers])
        all_good = allocation_judging.Answers([None], np.zeros(len(numbers), dtype=np.int64))
        return all_good.replaced(rows, self._answer)

    def _sure_since(self, grant: allocations.Grant) -> float:
        """Return the version since which all devices are there, up to the end; infinite: never."""
        last = [self._timelines.spans(result.id)[-1:] for result in grant.results]
        sure = [span[0].since if span and span[0].until == math.inf else math.inf for span in last]
        return max(sure, default=0.0)

    def _answer(self, row: int) -> allocation_judging.Answer:
        results = self._made.grant(row).results
        wrong = [result.id for result in results if not self._could_be_there(result.id, row)]
        if not wrong:
            return None
        seen = self._views.slices_of(self._made.claims[row].uid)
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
        seen = self._views.slices_of(self._made.claims[row].uid)
        until_ns = self._made.times_ns[row] - int(LAG_S * 1e9)
        return any(
            span.since < version and span.until > seen and span.until_ns >= until_ns
            for span in self._timelines.spans(device)
        )

"""Schedulers of releases that cannot read what the pools of a run publish.

Since Kubernetes 1.35, the counter sets of a pool are in slices of their own; older schedulers look
for them in the slice of the device, and count nothing. That is not their fault.
"""

import re

from harness.checks import plan_facts, protocol, verdicts
from harness.checks.consumption import device_consumption
from harness.checks.progress import claim_progress
from harness.history import plans

COUNTERS_SINCE = (1, 35)
"""First release that reads counter sets in slices of their own."""
_COUNTING = ("partitions", "limit")
"""Keys of kinds of pools whose devices consume counters."""
_RESTING = frozenset({device_consumption.CHECK.name, claim_progress.CHECK.name})
"""Checks of what a scheduler does that has read the counters."""
_RELEASE = re.compile(r"kube-scheduler v(\d+)\.(\d+)")


def review(
    evidence: protocol.Evidence, check: protocol.Check, answer: verdicts.CheckResult
) -> verdicts.CheckResult:
    """Return the answer of a check, without violations of such a scheduler."""
    objection = _objection(evidence.plan) if check.name in _RESTING else ""
    return answer.in_doubt(objection) if objection else answer


def _objection(plan: plans.Plan) -> str:
    """Return which scheduler could not read the counters; empty: there is none."""
    if not (plan_facts.files_have(plan, "counters") or plan_facts.kinds_have(plan, *_COUNTING)):
        return ""
    for version in plan.versions.values():
        release = _RELEASE.match(version)
        if release and (int(release[1]), int(release[2])) < COUNTERS_SINCE:
            return f"{version} cannot read counters in slices of their own, which came with 1.35"
    return ""

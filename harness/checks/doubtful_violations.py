"""Decides which violations stand when observations are missing, or a scheduler is too old.

Doubt never becomes a violation. Violations that need nothing but holds stand if the observations
have gaps, where holds end, but do not contradict themselves. Those of other checks rest on the
order, the completeness or the end of the observations; if these are in doubt, the check is UNKNOWN.

Nor is it the fault of schedulers that they cannot read what the pools of a run publish. Since
Kubernetes 1.35, the counter sets of a pool are in slices of their own; older schedulers look for
them in the slice of the device, and count nothing.
"""

import re

from harness.checks import plan_facts, protocol, verdicts
from harness.checks.certificate import certification
from harness.checks.consumption import device_consumption
from harness.checks.evidence import wholeness
from harness.checks.progress import claim_progress
from harness.history import plans

_OBSERVED = frozenset(
    {
        "files",
        "manifest",
        "recorder",
        "first-lists",
        "no-gaps",
        "order",
        "final-lists",
        "records",
        "lives",
        "lists",
        "final-objects",
        "references",
        "revisions",
        "acknowledged",
    }
)
"""Items of the certificate without which the observations are in doubt; an audit log disputes some
of them if it has other states of the same objects, not if it lacks writes."""

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
    """Return the answer of a check, without violations that do not stand."""
    found = evidence[wholeness.Wholeness].found
    doubts = (
        f"{item.name}: {item.reason}"
        for item in evidence[certification.Certificate].items
        if not item.ok and (item.name in _OBSERVED or found.count(item.name))
    )
    doubt = next(doubts, "")
    if not doubt or (check.by_holds and not found.are_holds_in_doubt):
        return answer
    return answer.in_doubt(f"the observations are in doubt ({doubt})")


def review_skew(
    evidence: protocol.Evidence, check: protocol.Check, answer: verdicts.CheckResult
) -> verdicts.CheckResult:
    """Return the answer of a check, without violations of such a scheduler."""
    objection = _skew(evidence.plan) if check.name in _RESTING else ""
    return answer.in_doubt(objection) if objection else answer


def _skew(plan: plans.Plan) -> str:
    """Return which scheduler could not read the counters; empty: there is none."""
    if not (plan_facts.files_have(plan, "counters") or plan_facts.kinds_have(plan, *_COUNTING)):
        return ""
    for version in plan.versions.values():
        release = _RELEASE.match(version)
        if release and (int(release[1]), int(release[2])) < COUNTERS_SINCE:
            return f"{version} cannot read counters in slices of their own, which came with 1.35"
    return ""

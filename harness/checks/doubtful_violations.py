"""Decides which violations remain valid when observations are missing.

Doubt never becomes a violation. Violations that need nothing but holds stand if the observations
have gaps, where holds end, but do not contradict themselves. Those of other checks rest on the
order, the completeness or the end of the observations; if these are in doubt, the check is UNKNOWN.
"""

from harness.checks import protocol, verdicts
from harness.checks.certificate import certification
from harness.checks.evidence import wholeness

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

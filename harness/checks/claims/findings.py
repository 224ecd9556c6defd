"""Makes a check's answer from its findings: exact counts, the first, the worst and the last."""

import dataclasses
from collections.abc import Sequence

from harness.checks import check_results, protocol, scripted_plans, verdicts
from harness.history import plans

FINALIZERS = "allocation_finalizers"
"""Name of the check of finalizers, by which a script asks about the API server."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A violation that a check has found."""

    summary: str
    text: str
    """One sentence without its period."""
    versions: Sequence[int]
    """The resourceVersions that show it, ascending."""
    objects: Sequence[verdicts.InvolvedObject]
    weight: int = 1
    """How bad it is, compared with others of the same check."""


def owes(plan: plans.Plan) -> bool:
    """Return whether the plan says what makes the claims and pods of its run.

    Histories that were written for another check do not.
    """
    return bool(plan.settings.get("traffic"))


def blames_server(plan: plans.Plan) -> bool:
    """Return whether what the API server does wrong is a violation of the run: it is ours.

    A real kube-apiserver does so by itself, which is neither the subject's fault nor the run's,
    unless a script asks whether it does.
    """
    is_ours = str(plan.cluster_profile.get("provider", "embedded")) == "embedded"
    return is_ours or scripted_plans.expects(plan, FINALIZERS)


def answer(
    check: protocol.Check, *, examined: int, what: str, found: Sequence[Finding]
) -> verdicts.Answer:
    """Return INVALID with the findings, VALID without any, or that nothing was examined.

    `what` was examined: a plural noun. Findings are listed in the order of their versions.
    """
    if not examined and not found:
        return check.not_examined(f"no {what} were observed, so nothing was examined")
    ordered = sorted(found, key=lambda item: (item.versions[0], item.summary))
    worst = max(range(len(ordered)), key=lambda index: ordered[index].weight, default=0)
    chosen = check_results.in_full(len(ordered), worst)
    others = [item.summary for index, item in enumerate(ordered) if index not in chosen]
    return verdicts.CheckResult(
        check=check.name,
        promise=check.promise,
        verdict=verdicts.Verdict.INVALID if found else verdicts.Verdict.VALID,
        examined_count=examined,
        violation_count=len(found),
        violations=[_violation(check.name, ordered[index]) for index in chosen],
        others=others[: check_results.OTHERS_MAX],
        reason=_reason(ordered, f"{what}: {examined}"),
    )


def _reason(ordered: Sequence[Finding], examined: str) -> str:
    if not ordered:
        return f"{examined}, none against it"
    more = f", and {len(ordered) - 1} more" * (len(ordered) > 1)
    return f"{ordered[0].summary}{more}; {examined}"


def _violation(name: str, item: Finding) -> verdicts.Violation:
    return verdicts.Violation(
        guarantee=name,
        summary=item.summary,
        text=f"{item.text}.",
        resource_versions=sorted(set(item.versions)),
        objects=list(item.objects),
    )

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
    versions: Sequence[int] = ()
    """The resourceVersions that show it."""
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
    ordered = sorted(found, key=lambda item: (min(item.versions), item.summary))
    figures = f"{what}: {examined}"
    reason = f"{first(ordered)}; {figures}" if found else f"{figures}, none against it"
    return result(check, ordered, examined=examined, reason=reason, worst=worst(ordered))


def result(
    check: protocol.Check,
    found: Sequence[Finding],
    *,
    examined: int,
    reason: str,
    is_kept: bool = True,
    worst: int | None = None,
) -> verdicts.CheckResult:
    """Return INVALID with the findings, in this order; without any, VALID if `is_kept`.

    The first ones are told in full; with the position of the worst one, this and the last one, too.
    """
    at_most = min(len(found), check_results.IN_FULL_MAX)
    chosen = range(at_most) if worst is None else check_results.in_full(len(found), worst)
    others = [item.summary for index, item in enumerate(found) if index not in chosen]
    return verdicts.CheckResult(
        check=check.name,
        promise=check.promise,
        verdict=check_results.verdict(found, is_kept=is_kept),
        examined_count=examined,
        violation_count=len(found),
        violations=[_violation(check.name, found[index]) for index in chosen],
        others=others[: check_results.OTHERS_MAX],
        reason=reason,
    )


def first(found: Sequence[Finding]) -> str:
    """Return the summary of the first finding, and how many more there are."""
    return found[0].summary + f", and {len(found) - 1} more" * (len(found) > 1)


def worst(found: Sequence[Finding]) -> int:
    """Return the position of the first of the worst findings; 0 without any."""
    return max(range(len(found)), key=lambda index: found[index].weight, default=0)


def _violation(name: str, item: Finding) -> verdicts.Violation:
    return verdicts.Violation(
        guarantee=name,
        summary=item.summary,
        text=f"{item.text}.",
        resource_versions=sorted(set(item.versions)),
        objects=list(item.objects),
    )

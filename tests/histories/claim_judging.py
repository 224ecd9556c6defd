"""Judges a history of the language by the checks of the lives of claims alone."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.checks import verdicts
from harness.checks.claims import (
    allocation_finalizers,
    allocation_stability,
    claim_lives,
    claims_in_use,
    generated_claims,
    pod_lives,
    reservations,
    template_copies,
)
from harness.checks.faults import fault_records
from harness.checks.observed import folders
from harness.history import plans, records
from tests.histories import building, language

SETTINGS: dict[str, Any] = {
    "name": building.SCENARIO,
    "traffic": {"users": 1},
    "subject": {"schedulers": [{"kind": "python", "scheduler_name": ""}]},
}


def plan(
    faults: Sequence[plans.PlannedFault] = (), settings: dict[str, Any] | None = None
) -> plans.Plan:
    """A plan that says what makes the claims and pods; `settings` are more of it."""
    return building.plan(faults=faults, settings=SETTINGS | (settings or {}))


def fold(body: Iterable[records.Body]) -> tuple[claim_lives.ClaimLives, pod_lives.PodLives]:
    lives, pods = claim_lives.ClaimLives(), pod_lives.PodLives()
    folders.fold(body, lives, pods)
    return lives, pods


def answers(
    body: Iterable[records.Body],
    faults: Sequence[plans.PlannedFault] = (),
    applied: Sequence[records.FaultApplied] = (),
) -> dict[str, verdicts.Answer]:
    body = list(body)
    lives, pods = fold(body)
    copies = template_copies.TemplateCopies()
    folders.fold(body, copies)
    record = fault_records.FaultRecords(planned=faults, applications=applied)
    found = [
        allocation_stability.check(lives),
        allocation_finalizers.check(lives),
        reservations.check(lives, pods),
        claims_in_use.check(lives, pods),
        generated_claims.check(lives, pods, plan(faults), record, copies),
    ]
    return {item.check: item for item in found}


def judge(check: str, text: str, **options: Any) -> verdicts.CheckResult:
    """The result of a check that has examined something of a history."""
    return result(check, language.observe(text), **options)


def result(check: str, body: Iterable[records.Body], **options: Any) -> verdicts.CheckResult:
    found = answers(body, **options)[check]
    assert isinstance(found, verdicts.CheckResult), found
    return found


def judge_by(check: str) -> Callable[[str], list[str]]:
    """A function that returns the summaries of what the check finds in a history."""

    def judge_text(text: str) -> list[str]:
        found = answers(language.observe(text))[check]
        if isinstance(found, verdicts.NotExamined):
            return ["not examined"]
        return [item.summary for item in found.violations]

    return judge_text

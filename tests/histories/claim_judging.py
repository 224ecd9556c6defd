"""Judges a history of the language by the checks of the lives of claims alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.checks import check_registry, fault_records, findings, protocol, verdicts
from harness.history import plans, records
from tests.histories import building, judged_runs, language

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


NAMES = (
    "allocation_stability",
    "allocation_finalizers",
    "claim_reservations",
    "claims_in_use",
    "generated_claims",
)
CHECKS = [item for item in check_registry.CHECKS if item.name in NAMES]


def evidence(
    body: Iterable[records.Body],
    checks: Sequence[protocol.Check] = CHECKS,
    *,
    of: plans.Plan | None = None,
    applied: Sequence[records.FaultApplied] = (),
    given: Mapping[type, object] | None = None,
) -> protocol.Evidence:
    """The evidence that the checks see of a history; `of` is the plan of its run."""
    planned = of or plan()
    record = fault_records.FaultRecords(planned=planned.faults, applications=applied)
    values = {fault_records.FaultRecords: record, **(given or {})}
    found = protocol.Evidence(planned, values)
    return found.fold(list(body), [kind for check in checks for kind in check.needs])


def answers(
    body: Iterable[records.Body],
    faults: Sequence[plans.PlannedFault] = (),
    applied: Sequence[records.FaultApplied] = (),
) -> dict[str, verdicts.Answer]:
    seen = evidence(body, of=plan(faults), applied=applied)
    return {check.name: findings.asked(check, seen) for check in CHECKS}


def judge(check: str, text: str, **options: Any) -> verdicts.CheckResult:
    """The result of a check that has examined something of a history."""
    return result(check, language.observe(text), **options)


def result(check: str, body: Iterable[records.Body], **options: Any) -> verdicts.CheckResult:
    return judged_runs.examined(answers(body, **options)[check])


def summaries(check: str, text: str) -> list[str]:
    """The summaries of what a check finds in a history; `none`: it has examined nothing."""
    found = answers(language.observe(text))[check]
    if isinstance(found, verdicts.NotExamined):
        return ["none"]
    return [item.summary for item in found.violations]

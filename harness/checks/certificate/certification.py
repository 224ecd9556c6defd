"""Asks all questions of the certificate.

A run is not asked about what its plan does not have: contention, faults, preparations, changes of
pools, dense revisions, an audit log.
"""

import dataclasses
from collections.abc import Iterator

from harness.checks import protocol, scripted_plans
from harness.checks.certificate import (
    certificate_items,
    journal_items,
    observation_items,
    run_course,
    script_items,
)
from harness.checks.evidence import (
    acknowledged_writes,
    api_call_totals,
    contention,
    pool_changes,
    wholeness,
)
from harness.checks.faults import fault_records
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations
from harness.checks.pods import unbound_pods
from harness.checks.witness import audit_comparison
from harness.history import last_words, plans
from harness.model import naming

_FILES = certificate_items.Question(
    "files", "Is every file undamaged and part of this run?", journal_items.files
)
"""The first item, answered last: the other answers read the files and find the damage."""
_QUESTIONS = (
    certificate_items.Question(
        "manifest", "Is every file as the run left it?", journal_items.unchanged
    ),
    certificate_items.Question(
        "recorder", "Was the recorder stopped in an orderly way?", observation_items.recorder
    ),
    certificate_items.Question(
        "first-lists",
        "Was every resource listed before it was watched?",
        observation_items.first_lists,
    ),
    certificate_items.Question("no-gaps", "Were the watches free of gaps?", observation_items.gaps),
    certificate_items.Question(
        "order", "Did resourceVersions only increase?", observation_items.order
    ),
    certificate_items.Question(
        "final-lists",
        "Does the final list match the state that the events add up to?",
        observation_items.final_lists,
    ),
    certificate_items.Question(
        "records", "Does each record agree with its object?", observation_items.agreement
    ),
    certificate_items.Question(
        "lives", "Were the lives of all objects lawful?", observation_items.lives
    ),
    certificate_items.Question(
        "lists", "Do the lists fit the events around them?", observation_items.lists
    ),
    certificate_items.Question(
        "final-objects",
        "Is each object of the final list as it was last observed?",
        observation_items.final_objects,
    ),
    certificate_items.Question(
        "references",
        "Was everything observed that pods and claims name?",
        observation_items.named_objects,
    ),
    certificate_items.Question(
        "revisions",
        "Was every revision of the cluster observed?",
        observation_items.dense_revisions,
        lambda evidence: evidence.plan.dense_revisions,
    ),
    certificate_items.Question(
        "operations",
        "Was every API call of the load journaled to completion?",
        journal_items.operations,
    ),
    certificate_items.Question(
        "writes",
        "Is the record of the subject's writes complete?",
        journal_items.writes,
        lambda evidence: bool(evidence.plan.expected_writes),
    ),
    certificate_items.Question(
        "acknowledged",
        "Was every acknowledged write observed at its version?",
        observation_items.acknowledged,
    ),
    certificate_items.Question(
        "steps", "Is the record of the scheduler's steps complete?", journal_items.steps
    ),
    certificate_items.Question(
        "processes",
        "Did every planned process run until it was stopped?",
        lambda evidence: run_course.processes(evidence.history),
    ),
    certificate_items.Question(
        "in-time",
        "Did the run come to its end, and every phase within its time limit?",
        lambda evidence: run_course.phases(evidence.history),
    ),
    certificate_items.Question(
        "load", "Was there enough load for a meaningful verdict?", journal_items.load
    ),
    certificate_items.Question(
        "contention",
        "Did claims compete for devices?",
        lambda evidence: contention.answer(
            evidence[hold_history.HoldHistory],
            evidence[contention.Contention],
            evidence.plan.requirements.reuse_min,
        ),
        lambda evidence: contention.applies(evidence.plan),
    ),
    certificate_items.Question(
        "preparations",
        "Is the record of the claims prepared on nodes complete?",
        journal_items.preparations,
        lambda evidence: bool(evidence.plan.expected_preparations),
    ),
    certificate_items.Question(
        "pool-changes",
        "Did every change of the pools that the scenario demands happen?",
        lambda evidence: pool_changes.answer(
            evidence[pool_changes.Reading], evidence.plan.pool_changes
        ),
        lambda evidence: bool(evidence.plan.pool_changes),
    ),
    certificate_items.Question(
        "faults",
        "Did every fault that the scenario demands take effect?",
        lambda evidence: fault_records.answer(evidence[fault_records.FaultRecords]),
        lambda evidence: evidence[fault_records.FaultRecords].is_expected,
    ),
    certificate_items.Question(
        script_items.NAME,
        "Did every step of the script happen, in its order?",
        script_items.answer,
        lambda evidence: scripted_plans.is_scripted(evidence.plan),
    ),
    certificate_items.Question(
        audit_comparison.NAME,
        "Does the audit log tell the same?",
        lambda evidence: audit_comparison.answer(evidence[audit_comparison.AuditComparison]),
        lambda evidence: audit_comparison.AuditLog in evidence,
    ),
)


def needs(plan: plans.Plan) -> Iterator[type]:
    """Yield the types of evidence that the questions need, beside what is read from journals."""
    yield wholeness.Wholeness
    yield hold_history.HoldHistory
    if contention.applies(plan):
        yield contention.Contention


@dataclasses.dataclass(frozen=True, slots=True)
class Certificate:
    """The answers to all questions."""

    items: list[certificate_items.Item]

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Certificate":
        """Ask, after doubting the observations that other records dispute."""
        whole = evidence[wholeness.Wholeness]
        for item in audit_comparison.disputed(evidence):
            name, uid, rv = audit_comparison.NAME, item.uid, item.version
            whole.found.add(name, item.text, resource=item.resource, uid=uid, from_rv=rv)
        whole.require_writes(
            evidence[api_call_totals.Operations].written,
            evidence[acknowledged_writes.SubjectWrites].versions,
            history=evidence.history,
        )
        return cls(_certify(evidence))


def _certify(evidence: protocol.Evidence) -> list[certificate_items.Item]:
    asked = [question for question in _QUESTIONS if question.applies(evidence)]
    answers = {question.name: question.answer(evidence) for question in asked}
    cause = _name_cause(answers, evidence)
    answers[_FILES.name] = journal_items.files(evidence)
    items = [_item(question, *answers[question.name]) for question in (_FILES, *asked)]
    return sorted(items, key=lambda item: item.name != cause)


def _item(question: certificate_items.Question, ok: bool, reason: str) -> certificate_items.Item:  # noqa: FBT001
    return certificate_items.Item(name=question.name, question=question.text, ok=ok, reason=reason)


def _name_cause(
    answers: dict[str, certificate_items.ItemResult], evidence: protocol.Evidence
) -> str:
    """Name the cause of what is missing, if it is known; return the item that explains most.

    That is a scheduler that has ended, or pods that were not bound; otherwise, drivers that
    refuse most claims, or the most frequent API error, usually are the cause of missing load or of
    a failed load process.
    """
    if run_course.scheduler_failed(evidence.history):
        return "processes"
    short = [name for name in ("load", "contention") if not answers.get(name, (True, ""))[0]]
    reasons = _why_unbound(evidence) if short else []
    if reasons:
        answers[short[0]] = False, "; ".join([*reasons, answers[short[0]][1]])
        return short[0]
    failed = ["processes"] if run_course.traffic_failed(evidence.history) else []
    for name in [*short, *failed]:
        ok, reason = answers[name]
        cause = (
            evidence[preparations.Reading].why_not_prepared
            or evidence[api_call_totals.Operations].most_frequent_error
        )
        if not ok and cause:
            answers[name] = ok, f"{reason}; {cause}"
            break
    return ""


def _why_unbound(evidence: protocol.Evidence) -> list[str]:
    """Return why pods were not bound; with a panic that a scheduler has survived."""
    reasons = unbound_pods.reasons(evidence.history)
    said = last_words.of_log(
        evidence.history.directory.log(naming.scheduler(0)), or_last_line=False
    )
    return [*reasons, f"its log has: {said}"] if reasons and said else reasons

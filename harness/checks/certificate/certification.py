"""Asks all questions of the certificate, and names the cause of what is missing if it is known."""

from collections.abc import Iterator

import msgspec

from harness.checks import protocol, verdicts
from harness.checks.certificate import questions, run_course
from harness.checks.evidence import acknowledged_writes, api_call_totals, contention, wholeness
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations
from harness.checks.pods import unbound_pods
from harness.checks.witness import audit_comparison
from harness.history import last_words, plans
from harness.model import naming

_FILES = questions.Question(
    "files", "Is every file undamaged and part of this run?", questions.files
)
"""The first item, answered last: the other answers read the files and find the damage."""


def needs(plan: plans.Plan) -> Iterator[type]:
    """Yield the types of evidence that the questions need, beside what is read from journals."""
    yield wholeness.Wholeness
    yield hold_history.HoldHistory
    if contention.applies(plan):
        yield contention.Contention


class Certificate(msgspec.Struct, frozen=True):
    """The answers to all questions."""

    items: list[verdicts.CertificateItem]

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Certificate":
        """Ask, after doubting the observations that other records dispute."""
        whole = evidence[wholeness.Wholeness]
        if audit_comparison.AuditLog in evidence:
            audited = evidence[audit_comparison.AuditComparison]
            if audited.compared.is_disputed:
                whole.found.add(audit_comparison.NAME, "it has other states")
        whole.require_writes(
            evidence[api_call_totals.Operations].written,
            evidence[acknowledged_writes.SubjectWrites].versions,
            history=evidence.history,
        )
        return cls(_certify(evidence))


def _certify(evidence: protocol.Evidence) -> list[verdicts.CertificateItem]:
    asked = [item for item in questions.QUESTIONS if not item.applies or item.applies(evidence)]
    answers = {question.name: question.answer(evidence) for question in asked}
    cause = _name_cause(answers, evidence)
    answers[_FILES.name] = questions.files(evidence)
    items = [
        verdicts.CertificateItem(name=item.name, question=item.text, ok=ok, reason=reason)
        for item in (_FILES, *asked)
        for ok, reason in [answers[item.name]]
    ]
    return sorted(items, key=lambda item: item.name != cause)


def _name_cause(answers: dict[str, questions.Result], evidence: protocol.Evidence) -> str:
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

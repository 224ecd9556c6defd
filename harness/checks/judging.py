"""Judge a run directory: fold the observations, certify the evidence, run the checks.

Deterministic: judging a directory twice gives the same bytes. A check that raises is UNKNOWN with
the exception as its reason, and so is damaged evidence.
"""

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from harness.checks import (
    blamed_writers,
    check_registry,
    conclusions,
    doubtful_violations,
    plain_answers,
    protocol,
    run_figures,
    verdict_files,
    verdicts,
)
from harness.checks.certificate import certification
from harness.checks.evidence import used_features
from harness.checks.faults import fault_attribution, fault_records
from harness.checks.holds import hold_history
from harness.checks.schedulers import scheduler_attribution
from harness.checks.witness import audit_comparison, audit_history, program_reads
from harness.history import directories, histories, plans

_Reviewer: TypeAlias = Callable[
    [protocol.Evidence, protocol.Check, verdicts.CheckResult], verdicts.CheckResult
]


def _of(kind: type[Any]) -> _Reviewer:
    return lambda evidence, check, answer: evidence[kind].review(check, answer)


_REVIEWERS: tuple[_Reviewer, ...] = (
    doubtful_violations.review,
    _of(blamed_writers.Reviewer),
    doubtful_violations.review_skew,
    _of(fault_attribution.Attributor),
    _of(scheduler_attribution.Attributor),
)
"""The reviewers of each answer with violations, in their order: the first ones leave out those that
do not stand, the others say what is behind those that do."""


class Examination(msgspec.Struct, frozen=True):
    """A judgement together with the history it was made from."""

    history: histories.History
    folded: hold_history.HoldHistory
    faults: fault_records.FaultRecords
    judgement: verdict_files.Judgement
    authors: Mapping[int, audit_history.Author] = {}
    """Version -> who wrote it, according to the audit log; empty: there is none."""
    reads: program_reads.ProgramReads = msgspec.field(default_factory=program_reads.ProgramReads)


def judge(directory: directories.RunDirectory) -> verdict_files.Judgement:
    """Return the judgement of a run directory. Damaged evidence gives UNKNOWN.

    Raises RunDirectoryError if it is not a run directory.
    """
    return examine(directory).judgement


def examine(
    directory: directories.RunDirectory, *, witness: Sequence[pathlib.Path] = ()
) -> Examination:
    """Judge a run directory and keep the history.

    `witness` are the parts of an audit log to compare instead of the run's own. Raises
    RunDirectoryError if it is not a run directory.
    """
    history = histories.load(directory.path)
    evidence = _read(history, witness)
    answers = [_reviewed(check, evidence) for check in _checks(history.plan)]
    return Examination(
        history,
        evidence[hold_history.HoldHistory],
        evidence[fault_records.FaultRecords],
        conclusions.judgement(evidence, answers, run_figures.measure(evidence, answers)),
        *_told(evidence),
    )


def _checks(plan: plans.Plan) -> Sequence[protocol.Check]:
    if not plan.plugins:
        return check_registry.CHECKS
    from harness.checks.plugin_checks import planned_checks  # with packages that are installed

    return (*check_registry.CHECKS, *planned_checks.of_plan(plan))


def _told(
    evidence: protocol.Evidence,
) -> tuple[()] | tuple[Mapping[int, audit_history.Author], program_reads.ProgramReads]:
    if audit_comparison.AuditLog not in evidence:
        return ()
    folded = evidence[audit_comparison.AuditLog].folded
    return folded.authors, folded.reads


def violations_so_far(directory: directories.RunDirectory) -> list[verdicts.Violation]:
    """Return what the harness' own checks find in the record of a run that goes on.

    No verdict: some of it may have another explanation, which is not recorded yet. Checks of what
    is so at the end are left out. Raises RunDirectoryError if it is not a run directory.
    """
    evidence = _read(histories.load(directory.path), ())
    checks = [check for check in check_registry.CHECKS if not check.at_rest]
    answers = [_answer(check, evidence) for check in checks]
    results = [answer for answer in answers if isinstance(answer, verdicts.CheckResult)]
    return [violation for result in results for violation in result.violations]


def _read(history: histories.History, witness: Sequence[pathlib.Path]) -> protocol.Evidence:
    """Read the observations once, for all that the checks and the certificate ask of them."""
    given = audit_comparison.given(history, witness)
    asked = protocol.needs(check_registry.CHECKS, history.plan)
    kinds = [*certification.needs(history.plan), *asked, *given, used_features.UsedFeatures]
    return protocol.read(history, kinds, given)


def _reviewed(check: protocol.Check, evidence: protocol.Evidence) -> verdicts.Answer:
    changed = evidence.history.compared.changes.get(evidence.history.directory.plan.name)
    if changed and check.applies(evidence.plan):
        return check.unknown(f"plan.json {changed}, so nothing was checked")
    answer = _answer(check, evidence)
    for review in _REVIEWERS:
        if isinstance(answer, verdicts.CheckResult) and answer.violations:
            answer = review(evidence, check, answer)
    return answer


def _answer(check: protocol.Check, evidence: protocol.Evidence) -> verdicts.Answer:
    try:
        return plain_answers.judged(check, evidence)
    except Exception as error:  # noqa: BLE001 - no error of a check is a verdict about the subject
        return check.unknown(f"{verdict_files.CHECK_FAILED}{error!r}")

"""Judge a run directory: fold the observations, certify the evidence, run the checks.

Deterministic: judging a directory twice gives the same bytes. A check that raises is UNKNOWN with
the exception as its reason, and so is damaged evidence.
"""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

from harness.checks import (
    blamed_writers,
    check_registry,
    conclusions,
    doubtful_violations,
    judge_identity,
    plain_answers,
    protocol,
    verdict_files,
    verdicts,
    version_skew,
)
from harness.checks.certificate import certificate_items, certification
from harness.checks.evidence import acknowledged_writes, api_call_totals, wholeness
from harness.checks.faults import fault_attribution, fault_records
from harness.checks.figures import run_figures
from harness.checks.holds import hold_history
from harness.checks.plugin_checks import planned_checks
from harness.checks.progress import claim_progress, resource_leaks
from harness.checks.schedulers import scheduler_attribution, scheduler_identities
from harness.checks.witness import audit_comparison
from harness.history import directories, histories, plans, subject_names

_AT_REST = (claim_progress.CHECK.name, resource_leaks.CHECK.name)
_NOT_ASKED = "the plan does not ask for it"
_NOT_OURS = "only the steps of our own scheduler or claim controller would tell it"


@dataclasses.dataclass(frozen=True, slots=True)
class Examination:
    """A judgement together with the history it was made from."""

    history: histories.History
    folded: hold_history.HoldHistory
    faults: fault_records.FaultRecords
    judgement: verdict_files.Judgement


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
    items = certification.certify(evidence)
    answers = _answers(evidence, items)
    found, others = conclusions.divided(answers, conclusions.owed(history.plan, _AT_REST))
    items = conclusions.require_examined(items, found, history.plan.requirements.examined)
    judgement = _judgement(evidence, items, _attribute(found, evidence), others)
    return Examination(
        history,
        evidence[hold_history.HoldHistory],
        evidence[fault_records.FaultRecords],
        judgement,
    )


def violations_so_far(directory: directories.RunDirectory) -> list[verdicts.Violation]:
    """Return what the harness' own checks find in the record of a run that goes on.

    No verdict: some of it may have another explanation, which is not recorded yet. Checks of what
    is so at the end are left out. Raises RunDirectoryError if it is not a run directory.
    """
    evidence = _read(histories.load(directory.path), ())
    checks = [check for check in check_registry.CHECKS if not check.at_rest]
    answers = [_answer(check, evidence, "") for check in checks]
    results = [answer for answer in answers if isinstance(answer, verdicts.CheckResult)]
    return [violation for result in results for violation in result.violations]


def _read(history: histories.History, witness: Sequence[pathlib.Path]) -> protocol.Evidence:
    """Read the run directory, each file once, and doubt what the witnesses dispute."""
    given = audit_comparison.given(history, witness)
    asked = protocol.needs(check_registry.CHECKS, history.plan)
    kinds = [*certification.needs(history.plan), *asked, *given]
    evidence = protocol.read(history, kinds, given)
    whole = evidence[wholeness.Wholeness]
    for item in audit_comparison.disputed(evidence):
        whole.found.add(
            audit_comparison.NAME,
            item.text,
            resource=item.resource,
            uid=item.uid,
            from_rv=item.version,
        )
    whole.require_writes(
        evidence[api_call_totals.Operations].written,
        evidence[acknowledged_writes.SubjectWrites].versions,
        history=history,
    )
    return evidence


# ------------------------------------------------------------------------------ checking


def _answers(
    evidence: protocol.Evidence, items: Sequence[certificate_items.Item]
) -> Iterator[verdicts.Answer]:
    """Yield the answer of each check, without violations that do not stand."""
    history = evidence.history
    doubt = _doubt(history)
    reviewer = doubtful_violations.Reviewer(evidence, items)
    writers = blamed_writers.Reviewer(evidence)
    for check in (*check_registry.CHECKS, *planned_checks.of_plan(history.plan)):
        answer = reviewer.review(check, _answer(check, evidence, doubt))
        yield version_skew.reviewed(writers.review(check, answer), history.plan)


def _doubt(history: histories.History) -> str:
    """Return why no check can be run; empty if nothing is against it.

    Every check reads the plan. A changed journal is treated as a damaged one, so that only the
    checks which read it have nothing to examine.
    """
    change = history.compared.changes.get(history.directory.plan.name)
    return f"plan.json {change}, so nothing was checked" if change else ""


def _answer(check: protocol.Check, evidence: protocol.Evidence, doubt: str) -> verdicts.Answer:
    if not check.applies(evidence.plan):
        return _not_asked(check, evidence.plan)
    if doubt:
        return check.unknown(doubt)
    try:
        return plain_answers.judged(check, evidence)
    except Exception as error:  # noqa: BLE001 - no error of a check is a verdict about the subject
        return check.unknown(f"{verdict_files.CHECK_FAILED}{error!r}")


def _not_asked(check: protocol.Check, plan: plans.Plan) -> verdicts.NotExamined:
    """Return why a check does not apply: its scenario may ask for it, but not with these parts."""
    asked = (plan.settings.get("load") or {}).get("examined") or ()
    return check.not_examined(_NOT_OURS if check.name in asked else _NOT_ASKED)


# ---------------------------------------------------------------------------- concluding


def _attribute(
    found: list[verdicts.CheckResult], evidence: protocol.Evidence
) -> list[verdicts.CheckResult]:
    """Return the results with the faults and schedulers behind the violations."""
    plan, folded = evidence.plan, evidence[hold_history.HoldHistory]
    results = fault_attribution.attribute(found, folded, evidence[fault_records.FaultRecords])
    if scheduler_identities.are_several(plan):
        results = scheduler_attribution.attribute(
            results,
            folded,
            evidence[scheduler_identities.SchedulersOfHolds],
            are_elected=_are_elected(plan),
        )
    return results


def _judgement(
    evidence: protocol.Evidence,
    items: list[certificate_items.Item],
    results: list[verdicts.CheckResult],
    not_examined: list[verdicts.NotExamined],
) -> verdict_files.Judgement:
    history, plan = evidence.history, evidence.plan
    measured, digests = run_figures.measure(evidence, results), history.digests()
    unseen = [item for item in not_examined if item.reason != _NOT_ASKED and not item.is_vacuous]
    verdict, reason = conclusions.conclude(items, results, measured, unseen=unseen)
    was_ended = conclusions.was_ended_as_planned(verdict, plan, history.phases)
    return verdict_files.Judgement(
        run_id=plan.run_id,
        scenario=plan.scenario,
        subject=plan.subject,
        subject_name=subject_names.of_plan(plan),
        defects=plan.defects,
        remedies=plan.remedies,
        seed=plan.seed,
        verdict=verdict,
        reason=reason,
        ended_by_violation=was_ended,
        certificate=conclusions.excuse(items) if was_ended else items,
        checks=results,
        not_examined=not_examined,
        figures=measured,
        evidence=digests,
        manifest=digests.get(history.directory.manifest.name, ""),
        judges=judge_identity.present(),
    )


def _are_elected(plan: plans.Plan) -> bool:
    return bool((plan.settings.get("subject") or {}).get("leader_election"))

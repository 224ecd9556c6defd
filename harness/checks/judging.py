"""From a run directory to its verdict: fold the observations, certify the evidence, run the checks.

Deterministic: judging a directory twice gives the same bytes. A check that raises is UNKNOWN with
the exception as its reason, and so is damaged evidence.
"""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

from harness.checks import (
    blamed_writers,
    check_inputs,
    check_registry,
    conclusions,
    doubtful_violations,
    judge_identity,
    observed_runs,
    verdict_files,
    verdicts,
    version_skew,
)
from harness.checks.certificate import certificate_items, certification
from harness.checks.devices import existing_devices
from harness.checks.evidence import (
    acknowledged_writes,
    api_call_totals,
    contradictions,
    pool_changes,
)
from harness.checks.faults import fault_attribution, fault_records
from harness.checks.figures import run_figures
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations
from harness.checks.plugin_checks import planned_checks
from harness.checks.progress import (
    claim_progress,
    garbage_collection,
    resource_leaks,
    scheduler_books,
)
from harness.checks.schedulers import scheduler_attribution, scheduler_identities, written_books
from harness.checks.taints import attempt_views, tainted_devices
from harness.checks.witness import testimony, watched_writes
from harness.history import directories, histories, plans, subject_names

_AT_REST = (claim_progress.NAME, resource_leaks.NAME)
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
    demanded = history.plan.requirements.examined
    evidence = _read(history, witness)
    items = certification.certify(evidence)
    given = _given(evidence)
    owed = conclusions.owed(history.plan, _AT_REST)
    found, others = conclusions.divided(_answers(evidence, given, items), owed)
    items = conclusions.require_examined(items, found, demanded)
    judgement = _judgement(evidence, items, _attribute(found, given), others)
    return Examination(history, evidence.observed.folded, evidence.faults, judgement)


def violations_so_far(directory: directories.RunDirectory) -> list[verdicts.Violation]:
    """Return what the harness' own checks find in the record of a run that goes on.

    No verdict: some of it may have another explanation, which is not recorded yet. Checks of what
    is so at the end are left out. Raises RunDirectoryError if it is not a run directory.
    """
    history = histories.load(directory.path)
    given = _given(_read(history, ()))
    checks = [check for check in check_registry.CHECKS if not check.at_rest]
    answers = [_answer(check, given, "") for check in checks]
    results = [answer for answer in answers if isinstance(answer, verdicts.CheckResult)]
    return [violation for result in results for violation in result.violations]


# ------------------------------------------------------------------------------- reading


def _read(
    history: histories.History, witness: Sequence[pathlib.Path]
) -> certificate_items.Evidence:
    """Read the run directory, each file once, and doubt what the witnesses dispute."""
    faults = fault_records.read(history)
    audit_log = _audit_log(history, witness)
    watched = None if audit_log is None else audit_log.watching()
    observed = observed_runs.observe(history, watched)
    evidence = certificate_items.Evidence(
        history=history,
        observed=observed,
        prepared=preparations.read(history),
        changed=pool_changes.read(history),
        operations=api_call_totals.read(history),
        writes=acknowledged_writes.read(history),
        faults=faults,
        audited=None if audit_log is None else audit_log.folded,
        told=_hear(audit_log, watched, observed.folded, faults),
    )
    _dispute(evidence.told, observed.whole.found)
    observed.whole.require_writes(
        evidence.operations.written, evidence.writes.versions, history=history
    )
    return evidence


def _audit_log(
    history: histories.History, witness: Sequence[pathlib.Path]
) -> testimony.AuditLog | None:
    """Return the audit log that was brought along, or the run's own; None: there is none."""
    if not testimony.is_asked(history.plan, witness):
        return None
    paths = witness or history.directory.audit_logs()
    return testimony.AuditLog(paths, namespace=history.plan.namespace)


def _hear(
    audit_log: testimony.AuditLog | None,
    watched: watched_writes.WatchedWrites | None,
    folded: hold_history.HoldHistory,
    faults: fault_records.FaultRecords,
) -> testimony.Testimony | None:
    if audit_log is None or watched is None:
        return None
    holds = ((hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in folded.holds)
    return audit_log.hear(watched, holds, kills=fault_records.api_server_kills(faults))


def _dispute(told: testimony.Testimony | None, found: contradictions.Contradictions) -> None:
    """Doubt each state of an object of which the audit log tells another one."""
    for item in told.comparison.disputed if told is not None else ():
        found.add(
            testimony.NAME, item.text, resource=item.resource, uid=item.uid, from_rv=item.version
        )


def _given(evidence: certificate_items.Evidence) -> check_inputs.CheckInput:
    history, observed = evidence.history, evidence.observed
    return check_inputs.CheckInput(
        plan=history.plan,
        observed=observed,
        faults=evidence.faults,
        prepared=evidence.prepared.prepared,
        started=evidence.prepared.started,
        schedulers=scheduler_identities.SchedulersOfHolds(
            scheduler_identities.planned(history.plan), observed.writers
        ),
        phases=tuple(history.phases),
        collects_garbage=garbage_collection.is_working(history),
        books=_books(history),
        views=_views(history),
    )


def _views(history: histories.History) -> dict[str, attempt_views.View]:
    """Return what the scheduler knew in its attempts, if a check asks for it."""
    if tainted_devices.needs_views(history.plan) or existing_devices.needs_views(history.plan):
        return attempt_views.read(history, attempt_views.SCHEDULER)
    return {}


def _books(history: histories.History) -> dict[str, written_books.Books | None]:
    """Return the schedulers' books if a check asks for them; steps of another form are no books."""
    if not scheduler_books.applies(history.plan):
        return {}
    return written_books.read_all(history, but=scheduler_books.CONTROLLER)


# ------------------------------------------------------------------------------ checking


def _answers(
    evidence: certificate_items.Evidence,
    given: check_inputs.CheckInput,
    items: Sequence[certificate_items.Item],
) -> Iterator[verdicts.Answer]:
    """Yield the answer of each check, without violations that do not stand."""
    history = evidence.history
    doubt = _doubt(history)
    reviewer = doubtful_violations.Reviewer(history, given, items)
    writers = blamed_writers.Reviewer(history, evidence.audited)
    for check in (*check_registry.CHECKS, *planned_checks.of_history(history)):
        answer = reviewer.review(check, _answer(check, given, doubt))
        yield version_skew.reviewed(writers.review(check, answer), history.plan)


def _doubt(history: histories.History) -> str:
    """Return why no check can be run; empty if nothing is against it.

    Every check reads the plan. A changed journal is treated as a damaged one, so that only the
    checks which read it have nothing to examine.
    """
    change = history.compared.changes.get(history.directory.plan.name)
    return f"plan.json {change}, so nothing was checked" if change else ""


def _answer(
    check: check_registry.Check, given: check_inputs.CheckInput, doubt: str
) -> verdicts.Answer:
    if not check.applies(given.plan):
        return _not_asked(check, given.plan)
    if doubt:
        return _unknown(check, doubt)
    try:
        return check.run(given)
    except Exception as error:  # noqa: BLE001 - no error of a check is a verdict about the subject
        return _unknown(check, f"{verdict_files.CHECK_FAILED}{error!r}")


def _not_asked(check: check_registry.Check, plan: plans.Plan) -> verdicts.NotExamined:
    """Return why a check does not apply: its scenario may ask for it, but not with these parts."""
    asked = (plan.settings.get("load") or {}).get("examined") or ()
    why = _NOT_OURS if check.name in asked else _NOT_ASKED
    return verdicts.NotExamined(check=check.name, promise=check.promise, reason=why)


def _unknown(check: check_registry.Check, reason: str) -> verdicts.CheckResult:
    return verdicts.CheckResult(
        check=check.name,
        promise=check.promise,
        verdict=verdicts.Verdict.UNKNOWN,
        examined_count=0,
        violation_count=0,
        violations=[],
        others=[],
        reason=reason,
    )


# ---------------------------------------------------------------------------- concluding


def _attribute(
    found: list[verdicts.CheckResult], given: check_inputs.CheckInput
) -> list[verdicts.CheckResult]:
    """Return the results with the faults and schedulers behind the violations."""
    plan, folded = given.plan, given.observed.folded
    results = fault_attribution.attribute(found, folded, given.faults)
    if scheduler_identities.are_several(plan):
        results = scheduler_attribution.attribute(
            results, folded, given.schedulers, are_elected=_are_elected(plan)
        )
    return results


def _judgement(
    evidence: certificate_items.Evidence,
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

"""Judge a run directory: fold the observations, certify the evidence, run the checks.

Deterministic: judging a directory twice gives the same bytes. A check that raises is UNKNOWN with
the exception as its reason, and so is damaged evidence.

Doubt never becomes a violation. Violations that need nothing but holds stand if the observations
have gaps, where holds end, but do not contradict themselves. Those of other checks rest on the
order, the completeness or the end of the observations; if these are in doubt, the check is UNKNOWN.

Nor is it the fault of schedulers that they cannot read what the pools of a run publish. Since
Kubernetes 1.35, the counter sets of a pool are in slices of their own; older schedulers look for
them in the slice of the device, and count nothing.
"""

import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from harness.checks import (
    blamed_writers,
    certification,
    check_registry,
    conclusions,
    fault_attribution,
    fault_records,
    findings,
    plan_facts,
    protocol,
    run_figures,
    scheduler_attribution,
    verdict_files,
    verdicts,
)
from harness.checks.devices import device_consumption
from harness.checks.evidence import used_features, wholeness
from harness.checks.holds import hold_history
from harness.checks.observed import folders
from harness.checks.progress import claim_progress
from harness.checks.witness import audit_comparison, audit_history
from harness.history import directories, histories, plans


class Examination(msgspec.Struct, frozen=True):
    """A judgement together with the history it was made from."""

    history: histories.History
    folded: hold_history.HoldHistory
    faults: fault_records.FaultRecords
    judgement: verdict_files.Judgement
    authors: Mapping[int, audit_history.Author] = {}
    """Version -> who wrote it, according to the audit log; empty: there is none."""
    reads: audit_history.ProgramReads = msgspec.field(default_factory=audit_history.ProgramReads)


def judge(directory: directories.RunDirectory) -> verdict_files.Judgement:
    """Return the judgement of a run directory. Damaged evidence gives UNKNOWN.

    Raises RunDirectoryError if it is not a run directory.
    """
    return examine(directory).judgement


@folders.without_collections()
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
    has_log = audit_comparison.AuditLog in evidence
    told = evidence[audit_comparison.AuditLog].folded if has_log else audit_history.AuditHistory("")
    return Examination(
        history,
        evidence[hold_history.HoldHistory],
        evidence[fault_records.FaultRecords],
        conclusions.judgement(evidence, answers, run_figures.measure(evidence, answers)),
        told.authors,
        told.reads,
    )


def _checks(plan: plans.Plan) -> Sequence[protocol.Check]:
    if not plan.plugins:
        return check_registry.CHECKS
    from harness.checks import plugin_checks  # with packages that are installed

    return (*check_registry.CHECKS, *plugin_checks.of_plan(plan))


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
        return findings.asked(check, evidence)
    except Exception as error:  # noqa: BLE001 - no error of a check is a verdict about the subject
        return check.unknown(f"{verdict_files.CHECK_FAILED}{error!r}")


# ------------------------------------------------------------------------------ reviews
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

COUNTERS_SINCE = (1, 35)
"""First release that reads counter sets in slices of their own."""
_COUNTING = ("partitions", "limit")
"""Keys of kinds of pools whose devices consume counters."""
_RESTING = frozenset({device_consumption.CHECK.name, claim_progress.CHECK.name})
"""Checks of what a scheduler does that has read the counters."""
_RELEASE = re.compile(r"kube-scheduler v(\d+)\.(\d+)")


def review_doubts(
    evidence: protocol.Evidence, check: protocol.Check, answer: verdicts.CheckResult
) -> verdicts.CheckResult:
    """Return the answer of a check, without violations that do not stand."""
    found = evidence[wholeness.Wholeness].found
    doubts = (
        f"{item.name}: {item.reason}"
        for item in evidence[certification.Certificate]
        if not item.ok and (item.name in _OBSERVED or found.count(item.name))
    )
    doubt = next(doubts, "")
    if not doubt or (check.by_holds and not found.are_holds_in_doubt):
        return answer
    return answer.in_doubt(f"the observations are in doubt ({doubt})")


def review_skew(
    evidence: protocol.Evidence, check: protocol.Check, answer: verdicts.CheckResult
) -> verdicts.CheckResult:
    """Return the answer of a check, without violations of such a scheduler."""
    plan = evidence.plan
    has_sets = plan_facts.files_have(plan, "counters") or plan_facts.kinds_have(plan, *_COUNTING)
    for version in plan.versions.values() if has_sets and check.name in _RESTING else ():
        release = _RELEASE.match(version)
        if release and (int(release[1]), int(release[2])) < COUNTERS_SINCE:
            why = "cannot read counters in slices of their own, which came with 1.35"
            return answer.in_doubt(f"{version} {why}")
    return answer


_Reviewer: TypeAlias = Callable[
    [protocol.Evidence, protocol.Check, verdicts.CheckResult], verdicts.CheckResult
]


def _of(kind: type[Any]) -> _Reviewer:
    return lambda evidence, check, answer: evidence[kind].review(check, answer)


_REVIEWERS: tuple[_Reviewer, ...] = (
    review_doubts,
    _of(blamed_writers.Reviewer),
    review_skew,
    _of(fault_attribution.Attributor),
    scheduler_attribution.review,
)
"""The reviewers of each answer with violations, in their order: the first ones leave out those that
do not stand, the others say what is behind those that do."""

"""The certificate of a run: the questions about its evidence, and their answers.

A run is not asked about what its plan does not have: contention, faults, preparations, changes of
pools, dense revisions, an audit log.
"""

import collections
from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from harness.checks import fault_records, plan_facts, protocol, run_course, verdicts
from harness.checks.claims import reservations
from harness.checks.evidence import (
    acknowledged_writes,
    contention,
    journal_totals,
    object_lives,
    recorded_lists,
    wholeness,
)
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations
from harness.checks.observed import claim_versions
from harness.checks.witness import audit_comparison
from harness.history import last_words, plans
from harness.model import naming
from harness.model.fault_effects import Effect

Result: TypeAlias = tuple[bool, str]
"""The answer to a question and its reason."""
_Answer: TypeAlias = Callable[[protocol.Evidence], Result]


class Question(msgspec.Struct, frozen=True):
    """An item before it is answered."""

    name: str
    text: str
    answer: _Answer
    applies: Callable[[protocol.Evidence], bool] | None = None
    """Returns True if a run is asked; None: all are."""


def files(evidence: protocol.Evidence) -> Result:
    """Return whether no file is damaged; asked last, since the other answers read the files."""
    damages = evidence.history.damages()
    return not damages, "; ".join(damages) or f"{len(evidence.history.directory.journals())} files"


def _unchanged(evidence: protocol.Evidence) -> Result:
    found = evidence.history.compared
    bad = [f"{name} {change}" for name, change in found.changes.items()]
    if found.problem or bad:
        return False, found.problem or "; ".join(bad)
    if found.count is None:
        return True, "the run left no manifest: a change of its files would not be noticed"
    return True, f"{found.count} files, unchanged since the end of the run"


# ------------------------------------------------------------------------- observations


def _recorder(evidence: protocol.Evidence) -> Result:
    reader = evidence.recorder
    if reader is None:
        return False, "there are no observations"
    return reader.ended_in_order("observations")


def _gaps(evidence: protocol.Evidence) -> Result:
    streams = evidence[hold_history.HoldHistory].streams
    found = [
        f"{name} after {gap.after_resource_version} ({gap.reason})"
        for name, stream in streams.items()
        for gap in stream.gaps
    ]
    observed = sum(stream.observed for stream in streams.values())
    return not found, "; ".join(found) or f"{observed} commits observed"


def _order(evidence: protocol.Evidence) -> Result:
    folded = evidence[hold_history.HoldHistory]
    bad = {name: stream.disordered for name, stream in folded.streams.items() if stream.disordered}
    text = "; ".join(f"{name}: {len(found)}, first {found[0]}" for name, found in bad.items())
    return not bad, text or f"up to resourceVersion {folded.last_rv}"


def _final_lists(evidence: protocol.Evidence) -> Result:
    ok, reason = _lists(evidence, "final", lambda stream: stream.has_final_list)
    if not ok:
        return ok, reason
    streams = evidence[hold_history.HoldHistory].streams
    differing = {
        name: len(set(stream.live.items()) ^ set(stream.final.items()))
        for name, stream in streams.items()
    }
    bad = [f"{name}: {count} objects differ" for name, count in differing.items() if count]
    total = sum(len(stream.final) for stream in streams.values())
    return not bad, "; ".join(bad) or f"{total} objects in the final lists, all as expected"


def _lists(
    evidence: protocol.Evidence, which: str, has: Callable[[hold_history.ObservedStream], bool]
) -> Result:
    folded, resources = evidence[hold_history.HoldHistory], evidence.plan.resources
    missing = [name for name in resources if not has(folded.stream(name))]
    if missing:
        return False, f"no {which} list of {', '.join(missing)}"
    return True, f"{len(resources)} resources"


def _found(name: str, good: Callable[[wholeness.Wholeness], str]) -> _Answer:
    def answer(evidence: protocol.Evidence) -> Result:
        whole = evidence[wholeness.Wholeness]
        bad = whole.found.answer(name)
        return not bad, bad or good(whole)

    return answer


def _revisions(whole: wholeness.Wholeness) -> str:
    begin, end = whole.between
    return f"{end - begin} revisions, from {begin + 1} to {end}" if end > begin else "no revisions"


def _acknowledged(evidence: protocol.Evidence) -> Result:
    operations, folded = evidence[journal_totals.Operations], evidence[hold_history.HoldHistory]
    created = operations.created
    missing = created - folded.claims.keys() - folded.pods.keys()
    if missing:
        return False, f"{len(missing)} of {len(created)} never observed, e.g. {min(missing)}"
    writes = len(operations.written) + len(evidence[journal_totals.SubjectWrites].versions)
    good = f"{len(created)} pods and claims created; {writes} writes"
    return _found(acknowledged_writes.OBSERVED, lambda _: good)(evidence)


# ------------------------------------------------------------------------ other journals


def _operations(evidence: protocol.Evidence) -> Result:
    found = evidence[journal_totals.Operations]
    good = f"{found.calls} calls, {found.unknown} with unknown outcome"
    return not found.problems, "; ".join(found.problems) or good


def _writes(evidence: protocol.Evidence) -> Result:
    found = evidence[journal_totals.SubjectWrites]
    good = f"{len(found.versions)} acknowledged writes"
    return not found.problems, "; ".join(found.problems) or good


def _preparations(evidence: protocol.Evidence) -> Result:
    reading = evidence[preparations.Reading]
    if reading.problems:
        return False, "; ".join(reading.problems)
    applied = evidence[fault_records.FaultRecords].applications
    reboots = [item for item in applied if plan_facts.effect(item) is Effect.REBOOT]
    if len(reading.rebooted) < len(reboots):
        told = verdicts.counted(len(reboots), "reboot")
        return False, f"{told} of nodes, of which kubelets have found {len(reading.rebooted)}"
    totals = reading.totals
    return True, f"{totals.prepared} claims prepared, {totals.unprepared} unprepared"


def _steps(evidence: protocol.Evidence) -> Result:
    counts: list[str] = []
    for process in evidence.history.expected_steps():
        reader = evidence.history.steps(process)
        if reader is None:
            return False, f"{process} left no steps"
        collections.deque(reader, maxlen=0)
        ok, reason = reader.ended_in_order(f"steps of {process}")
        if not ok:
            return ok, reason
        counts.append(f"{process}: {reason}")
    return True, "; ".join(counts) or "no steps were requested"


def _load(evidence: protocol.Evidence) -> Result:
    wanted, folded = evidence.plan.requirements, evidence[hold_history.HoldHistory]
    figures = {
        "allocations": (len(folded.holds), wanted.allocations_min),
        "pods seen Running": (folded.pods_running, wanted.pods_running_min),
    }
    if wanted.reservations_min:
        most = reservations.most(evidence[claim_versions.ClaimVersions])
        figures["reservations of one claim"] = most, wanted.reservations_min
    bad = [
        f"{got} {what}, expected at least {least}"
        for what, (got, least) in figures.items()
        if got < least
    ]
    told = bad or [f"{got} {what} (at least {least})" for what, (got, least) in figures.items()]
    if beside := evidence[journal_totals.Operations].begun_beside:
        told.append(f"{beside:,} claims or pods begun beside others that users waited for")
    return not bad, "; ".join(told)


QUESTIONS = (
    Question("manifest", "Is every file as the run left it?", _unchanged),
    Question("recorder", "Was the recorder stopped in an orderly way?", _recorder),
    Question(
        "first-lists",
        "Was every resource listed before it was watched?",
        lambda evidence: _lists(evidence, "first", lambda stream: stream.has_first_list),
    ),
    Question("no-gaps", "Were the watches free of gaps?", _gaps),
    Question("order", "Did resourceVersions only increase?", _order),
    Question(
        "final-lists",
        "Does the final list match the state that the events add up to?",
        _final_lists,
    ),
    Question(
        object_lives.AGREES,
        "Does each record agree with its object?",
        _found(object_lives.AGREES, lambda whole: f"{len(whole.observed)} records"),
    ),
    Question(
        object_lives.LAWFUL,
        "Were the lives of all objects lawful?",
        _found(
            object_lives.LAWFUL, lambda whole: f"{whole.total(lambda it: it.lives.births)} objects"
        ),
    ),
    Question(
        recorded_lists.FIT,
        "Do the lists fit the events around them?",
        _found(recorded_lists.FIT, lambda whole: f"{whole.total(lambda it: it.lists.count)} lists"),
    ),
    Question(
        object_lives.FINAL,
        "Is each object of the final list as it was last observed?",
        _found(
            object_lives.FINAL, lambda whole: f"{whole.total(lambda it: it.lives.finals)} objects"
        ),
    ),
    Question(
        wholeness.NAMED,
        "Was everything observed that pods and claims name?",
        _found(wholeness.NAMED, lambda whole: f"{whole.references.count} names"),
    ),
    Question(
        wholeness.DENSE,
        "Was every revision of the cluster observed?",
        _found(wholeness.DENSE, _revisions),
        lambda evidence: evidence.plan.dense_revisions,
    ),
    Question("operations", "Was every API call of the load journaled to completion?", _operations),
    Question(
        "writes",
        "Is the record of the subject's writes complete?",
        _writes,
        lambda evidence: bool(evidence.plan.expected_writes),
    ),
    Question(
        acknowledged_writes.OBSERVED,
        "Was every acknowledged write observed at its version?",
        _acknowledged,
    ),
    Question("steps", "Is the record of the scheduler's steps complete?", _steps),
    Question(
        "processes",
        "Did every planned process run until it was stopped?",
        run_course.processes,
    ),
    Question(
        "in-time",
        "Did the run come to its end, and every phase within its time limit?",
        run_course.phases,
    ),
    Question("load", "Was there enough load for a meaningful verdict?", _load),
    Question(
        "contention",
        "Did claims compete for devices?",
        lambda evidence: contention.answer(
            evidence[hold_history.HoldHistory],
            evidence[contention.Contention],
            evidence.plan.requirements.reuse_min,
        ),
        lambda evidence: contention.applies(evidence.plan),
    ),
    Question(
        "preparations",
        "Is the record of the claims prepared on nodes complete?",
        _preparations,
        lambda evidence: bool(evidence.plan.expected_preparations),
    ),
    Question(
        "pool-changes",
        "Did every change of the pools that the scenario demands happen?",
        lambda evidence: journal_totals.pools_answer(
            evidence[journal_totals.PoolReading], evidence.plan.pool_changes
        ),
        lambda evidence: bool(evidence.plan.pool_changes),
    ),
    Question(
        "faults",
        "Did every fault that the scenario demands take effect?",
        lambda evidence: fault_records.answer(evidence[fault_records.FaultRecords]),
        lambda evidence: evidence[fault_records.FaultRecords].is_expected,
    ),
    Question(
        run_course.SCRIPT,
        "Did every step of the script happen, in its order?",
        run_course.script,
        lambda evidence: plan_facts.is_scripted(evidence.plan),
    ),
    Question(
        audit_comparison.NAME,
        "Does the audit log tell the same?",
        lambda evidence: audit_comparison.answer(
            evidence[audit_comparison.AuditLog], evidence[audit_comparison.Comparison]
        ),
        lambda evidence: audit_comparison.AuditLog in evidence,
    ),
)
"""All but that about the files, in the order of the certificate."""


# ----------------------------------------------------------------------- the certificate
_FILES = Question("files", "Is every file undamaged and part of this run?", files)
"""The first item, answered last: the other answers read the files and find the damage."""


def needs(plan: plans.Plan) -> Iterator[type]:
    """Yield the types of evidence that the questions need, beside what is read from journals."""
    yield wholeness.Wholeness
    yield hold_history.HoldHistory
    if contention.applies(plan):
        yield contention.Contention


class Certificate(list[verdicts.CertificateItem]):
    """The answers to all questions."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Certificate":
        whole = evidence[wholeness.Wholeness]
        has_log = audit_comparison.AuditLog in evidence
        if has_log and evidence[audit_comparison.Comparison].is_disputed:
            whole.found.add(audit_comparison.NAME, "it has other states")
        whole.require_writes(
            evidence[journal_totals.Operations].written,
            evidence[journal_totals.SubjectWrites].versions,
            history=evidence.history,
        )
        return cls(_certify(evidence))


def _certify(evidence: protocol.Evidence) -> list[verdicts.CertificateItem]:
    asked = [item for item in QUESTIONS if not item.applies or item.applies(evidence)]
    answers = {question.name: question.answer(evidence) for question in asked}
    cause = _name_cause(answers, evidence)
    answers[_FILES.name] = files(evidence)
    items = [
        verdicts.CertificateItem(name=item.name, question=item.text, ok=ok, reason=reason)
        for item in (_FILES, *asked)
        for ok, reason in [answers[item.name]]
    ]
    return sorted(items, key=lambda item: item.name != cause)


def _name_cause(answers: dict[str, Result], evidence: protocol.Evidence) -> str:
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
            or evidence[journal_totals.Operations].most_frequent_error
        )
        if not ok and cause:
            answers[name] = ok, f"{reason}; {cause}"
            break
    return ""


def _why_unbound(evidence: protocol.Evidence) -> list[str]:
    reasons = contention.why_unbound(evidence.history)
    said = last_words.of_log(
        evidence.history.directory.log(naming.scheduler(0)), or_last_line=False
    )
    return [*reasons, f"its log has: {said}"] if reasons and said else reasons

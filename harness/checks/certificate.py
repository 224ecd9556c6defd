"""The certificate: the evidence that a VALID verdict rests on.

Each item is a question about the evidence. A single "no" rules out VALID.
"""

import collections
from collections.abc import Callable

import msgspec

from harness.checks import api_call_totals, fault_records, observed_runs, pool_changes, preparations
from harness.checks.holds import hold_history
from harness.history import histories, records


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question about the evidence and its answer."""

    name: str
    question: str
    ok: bool
    reason: str
    """The answer in words, with figures."""


ItemResult = tuple[bool, str]
"""The answer to a question and its reason."""
TRAFFIC = "traffic"
"""Name of the process that makes the load."""


def certify(
    history: histories.History,
    observed: observed_runs.ObservedRun,
    faults: fault_records.FaultRecords,
    prepared: preparations.Reading,
    changed: pool_changes.Reading,
) -> tuple[list[Item], api_call_totals.Operations]:
    """Return all items, and the totals of the API calls.

    A run is not asked about what its plan does not have: faults, preparations, changes of pools.
    """
    folded, recorder = observed.folded, observed.recorder
    operations = api_call_totals.read(history)
    answers: dict[str, tuple[str, ItemResult]] = {
        "recorder": ("Was the recorder stopped in an orderly way?", _recorder(recorder)),
        "first-lists": (
            "Was every resource listed before it was watched?",
            _lists(history, folded, lambda stream: stream.has_first_list, "first"),
        ),
        "no-gaps": ("Were the watches free of gaps?", _gaps(folded)),
        "order": ("Did resourceVersions only increase?", _order(folded)),
        "final-lists": (
            "Does the final list match the state that the events add up to?",
            _final(history, folded),
        ),
        "operations": (
            "Was every API call of the load journaled to completion?",
            _journals(operations),
        ),
        "acknowledged": (
            "Was every acknowledged creation observed?",
            _acknowledged(operations, folded),
        ),
        "steps": ("Is the record of the scheduler's steps complete?", _steps(history)),
        "processes": ("Did every process run until it was stopped?", _processes(history)),
        "in-time": ("Did every phase end within its time limit?", _in_time(history)),
        "load": ("Was there enough load for a meaningful verdict?", _load(history, observed)),
    }
    if history.plan.expected_preparations:
        answers["preparations"] = (
            "Is the record of the claims prepared on nodes complete?",
            _preparations(prepared),
        )
    if history.plan.pool_changes:
        answers["pool-changes"] = (
            "Did every change of the pools that the scenario demands happen?",
            pool_changes.answer(changed, history.plan.pool_changes),
        )
    if faults.is_expected:
        answers["faults"] = (
            "Did every fault that the scenario demands take effect?",
            fault_records.answer(faults),
        )
    answers = {
        "files": ("Is every file undamaged and part of this run?", _files(history)),
        "manifest": ("Is every file as the run left it?", _unchanged(history)),
        **answers,
    }
    _name_most_frequent_error(answers, operations, history)
    items = [
        Item(name=name, question=question, ok=ok, reason=reason)
        for name, (question, (ok, reason)) in answers.items()
    ]
    return items, operations


def _files(history: histories.History) -> ItemResult:
    """Answer last: the other answers read the files and find the damage."""
    damages = history.damages()
    return not damages, "; ".join(damages) or f"{len(history.directory.journals())} files"


def _unchanged(history: histories.History) -> ItemResult:
    found = history.compared
    bad = [f"{name} {change}" for name, change in found.changes.items()]
    if found.problem or bad:
        return False, found.problem or "; ".join(bad)
    if found.count is None:
        return True, "the run left no manifest: a change of its files would not be noticed"
    return True, f"{found.count} files, unchanged since the end of the run"


def _name_most_frequent_error(
    answers: dict[str, tuple[str, ItemResult]],
    operations: api_call_totals.Operations,
    history: histories.History,
) -> None:
    """Append the most frequent API error to the reason for missing load or a failed load process.

    It usually is the cause.
    """
    for name in ("load", "processes"):
        question, (ok, reason) = answers[name]
        is_blamed = not ok and (name == "load" or _traffic_failed(history))
        if is_blamed and operations.errors:
            answers[name] = question, (ok, f"{reason}; {operations.most_frequent_error}")
            return


def _traffic_failed(history: histories.History) -> bool:
    return any(
        isinstance(item, records.ProcessEnded)
        and item.process == TRAFFIC
        and not (item.expected and item.exit_code == 0)
        for item in (history.processes.records if history.processes else ())
    )


def _recorder(reader: histories.EvidenceReader | None) -> ItemResult:
    if reader is None:
        return False, "there are no observations"
    return reader.ended_in_order("observations")


def _lists(
    history: histories.History,
    folded: hold_history.HoldHistory,
    has: Callable[[hold_history.ObservedStream], bool],
    which: str,
) -> ItemResult:
    missing = [name for name in history.plan.resources if not has(folded.stream(name))]
    if missing:
        return False, f"no {which} list of {', '.join(missing)}"
    return True, f"{len(history.plan.resources)} resources"


def _gaps(folded: hold_history.HoldHistory) -> ItemResult:
    gaps = [
        f"{name} after {gap.after_resource_version} ({gap.reason})"
        for name, stream in folded.streams.items()
        for gap in stream.gaps
    ]
    observed = sum(stream.observed for stream in folded.streams.values())
    return not gaps, "; ".join(gaps) or f"{observed} commits observed"


def _order(folded: hold_history.HoldHistory) -> ItemResult:
    bad = {name: stream.disordered for name, stream in folded.streams.items() if stream.disordered}
    text = "; ".join(f"{name}: {len(found)}, first {found[0]}" for name, found in bad.items())
    return not bad, text or f"up to resourceVersion {folded.last_rv}"


def _final(history: histories.History, folded: hold_history.HoldHistory) -> ItemResult:
    ok, reason = _lists(history, folded, lambda stream: stream.has_final_list, "final")
    if not ok:
        return ok, reason
    differing = {
        name: len(set(stream.live.items()) ^ set(stream.final.items()))
        for name, stream in folded.streams.items()
    }
    bad = [f"{name}: {count} objects differ" for name, count in differing.items() if count]
    total = sum(len(stream.final) for stream in folded.streams.values())
    return not bad, "; ".join(bad) or f"{total} objects in the final lists, all as expected"


def _journals(operations: api_call_totals.Operations) -> ItemResult:
    if operations.problems:
        return False, "; ".join(operations.problems)
    return True, f"{operations.calls} calls, {operations.unknown} with unknown outcome"


def _preparations(prepared: preparations.Reading) -> ItemResult:
    totals = prepared.totals
    if prepared.problems:
        return False, "; ".join(prepared.problems)
    return True, f"{totals.prepared} claims prepared, {totals.unprepared} unprepared"


def _acknowledged(
    operations: api_call_totals.Operations, folded: hold_history.HoldHistory
) -> ItemResult:
    missing = operations.created - folded.claims.keys() - folded.pods.keys()
    if missing:
        return (
            False,
            f"{len(missing)} of {len(operations.created)} never observed, e.g. {min(missing)}",
        )
    return True, f"{len(operations.created)} pods and claims"


def _steps(history: histories.History) -> ItemResult:
    counts: list[str] = []
    for process in history.expected_steps():
        reader = history.steps(process)
        if reader is None:
            return False, f"{process} left no steps"
        collections.deque(reader, maxlen=0)
        ok, reason = reader.ended_in_order(f"steps of {process}")
        if not ok:
            return ok, reason
        counts.append(f"{process}: {reason}")
    return True, "; ".join(counts) or "no steps were requested"


def _processes(history: histories.History) -> ItemResult:
    journal = history.processes
    if journal is None or journal.trailer is None:
        return False, "the run itself did not finish"
    ends = [item for item in journal.records if isinstance(item, records.ProcessEnded)]
    bad = [
        f"{item.process} ended unexpectedly or with an error (exit code {item.exit_code})"
        for item in ends
        if not item.expected
    ]
    started = {item.process for item in journal.records if isinstance(item, records.ProcessStarted)}
    bad += [f"{name} never ended" for name in sorted(started - {item.process for item in ends})]
    bad += [phase.detail for phase in history.phases if phase.name == "ended early"]
    by_faults = [f"{item.process} ended by {item.fault}" for item in ends if item.fault]
    by_faults += [f"{item.process} lost its lease" for item in ends if item.lease_lost]
    good = "; ".join([f"{len(ends)} processes", *by_faults])
    return not bad, "; ".join(dict.fromkeys(bad)) or good


def _in_time(history: histories.History) -> ItemResult:
    late = [phase.detail for phase in history.phases if phase.name == "timed out"]
    return not late, "; ".join(late) or "no phase timed out"


def _load(history: histories.History, observed: observed_runs.ObservedRun) -> ItemResult:
    wanted, folded = history.plan.requirements, observed.folded
    figures = {
        "allocations": (len(folded.holds), wanted.allocations_min),
        "pods seen Running": (folded.pods_running, wanted.pods_running_min),
        "devices used again": (reuse(folded), wanted.reuse_min),
    }
    if wanted.reservations_min:
        most = observed.lives.most
        figures["reservations of one claim"] = most, wanted.reservations_min
    bad = [
        f"{got} {what}, expected at least {least}"
        for what, (got, least) in figures.items()
        if got < least
    ]
    good = [f"{got} {what} (at least {least})" for what, (got, least) in figures.items()]
    return not bad, "; ".join(bad or good)


def reuse(folded: hold_history.HoldHistory) -> int:
    """Return the number of holds of a device that another claim had held before."""
    users: dict[str, set[str]] = collections.defaultdict(set)
    for hold in folded.holds:
        users[hold.device].add(hold.uid)
    return sum(len(uids) - 1 for uids in users.values())

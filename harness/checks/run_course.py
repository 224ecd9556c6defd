"""Did the run take its course: processes started and ended, it came to its end, by its script?

processes.jsonl is complete only if the last phase of a run is in it. A journal that was cut short
has it no longer, even if its trailer was made to fit.
"""

from collections.abc import Iterator

from harness.checks import plan_facts, protocol
from harness.history import histories, last_words, plans, records
from harness.model import naming

RECORDER = "recorder"
TRAFFIC = "traffic"
"""Name of the process that makes the load."""
ENDED = "ended"
"""The last phase of every run."""


def processes(evidence: protocol.Evidence) -> tuple[bool, str]:
    history = evidence.history
    journal = history.processes
    if journal is None or journal.trailer is None:
        return False, "the run itself did not finish"
    starts = [item for item in journal.records if isinstance(item, records.ProcessStarted)]
    ends = _ends(history)
    bad = [
        *_bad_ends(ends, history),
        *_unbalanced(starts, ends),
        *_never_started(history.plan, starts),
        *(phase.detail for phase in history.phases if phase.name == "ended early"),
    ]
    by_faults = [f"{item.process} ended by {item.fault}" for item in ends if item.fault]
    by_faults += [f"{item.process} lost its lease" for item in ends if item.lease_lost]
    good = "; ".join([f"{len(ends)} processes", *by_faults])
    return not bad, "; ".join(dict.fromkeys(bad)) or good


def phases(evidence: protocol.Evidence) -> tuple[bool, str]:
    names = [phase.name for phase in evidence.phases]
    late = [phase.detail for phase in evidence.phases if phase.name == "timed out"]
    if ENDED not in names:
        late.append(f"the phase {ENDED!r} is missing: the record of the run was cut short")
    elif names[-1] != ENDED or names.count(ENDED) > 1:
        late.append(f"the phase {ENDED!r} is not the last one")
    return not late, "; ".join(late) or f"no phase timed out; {len(names)} phases"


def traffic_failed(history: histories.History) -> bool:
    return any(
        item.process == TRAFFIC and not (item.expected and item.exit_code == 0)
        for item in _ends(history)
    )


def scheduler_failed(history: histories.History) -> bool:
    """Return whether a scheduler ended by itself."""
    return any(
        naming.first_incarnation(item.process).startswith(naming.scheduler(0))
        and not (item.expected or item.fault)
        for item in _ends(history)
    )


def _ends(history: histories.History) -> list[records.ProcessEnded]:
    found = history.processes.records if history.processes else ()
    return [item for item in found if isinstance(item, records.ProcessEnded)]


def _bad_ends(ends: list[records.ProcessEnded], history: histories.History) -> Iterator[str]:
    users = [item for item in history.plan.plugins if item.kind == TRAFFIC]
    whose = "".join(f"; its users are {item.name} of {item.package}" for item in users)
    for item in ends:
        if not item.expected:
            code = item.exit_code
            more = whose if item.process == TRAFFIC else ""
            said = last_words.of_log(history.directory.log(item.process), or_last_line=code > 0)
            quoted = f": {said}" if said else ""
            yield (
                f"{item.process} ended unexpectedly or with an error (exit code {code}{more}){quoted}"
            )


def _unbalanced(
    starts: list[records.ProcessStarted], ends: list[records.ProcessEnded]
) -> Iterator[str]:
    """Yield the processes that did not start once and end once. Each incarnation has its name."""
    started = [(item.process, item.pid) for item in starts]
    ended = [(item.process, item.pid) for item in ends]
    names = {name for name, _ in ended}
    for name, pid in dict.fromkeys(started):
        if name not in names:
            yield f"{name} never ended"
        elif (name, pid) not in ended:
            yield f"{name} ended with another pid than it started with"
    for name in sorted(names - {one for one, _ in started}):
        yield f"{name} ended, but never started"
    for what, listed in (("started", started), ("ended", ended)):
        again = sorted({item[0] for item in listed if listed.count(item) > 1})
        yield from (f"{name} {what} twice" for name in again)


def _never_started(plan: plans.Plan, starts: list[records.ProcessStarted]) -> Iterator[str]:
    if plan.settings.get("token"):  # a run of the explorer: its actors are no processes
        return
    started = {naming.first_incarnation(item.process) for item in starts}
    for name in planned_processes(plan):
        if name not in started:
            yield f"{name} never started"


def planned_processes(plan: plans.Plan) -> list[str]:
    if plan.expected_processes:
        return plan.expected_processes
    return list(dict.fromkeys([RECORDER, *plan.expected_preparations, *plan.expected_steps]))


# ---------------------------------------------------------------------------- the script
SCRIPT = "script"
"""Name of the item."""


def script_steps(history: histories.History) -> list[records.ScriptStep]:
    """Return the steps that the run recorded, in order; none if there is no record."""
    reader = history.script()
    found = list(reader) if reader is not None else []
    return [item for item in found if isinstance(item, records.ScriptStep)]


def script(evidence: protocol.Evidence) -> tuple[bool, str]:
    reader, planned = evidence.history.script(), plan_facts.steps(evidence.plan)
    if reader is None:
        return False, "the run left no record of its script"
    played = [item for item in reader if isinstance(item, records.ScriptStep)]
    ok, ending = reader.ended_in_order("steps of the script")
    if not ok:
        return False, ending
    late = next((item for item in played if item.late), None)
    if late is not None:
        waited_s = (late.ended_ns - late.begun_ns) / 1e9
        return False, (
            f"step {late.step} of {len(planned)} did not happen: {late.text}; after {waited_s:.1f} s: "
            f"{late.late}"
        )
    if [item.step for item in played] != list(range(1, len(planned) + 1)):
        return False, f"{len(played)} of {len(planned)} steps were played"
    return True, f"all {len(planned)} steps happened in their order"

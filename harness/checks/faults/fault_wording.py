"""The words for effects of faults that explain a double allocation."""

from collections.abc import Sequence

from harness.history import records
from harness.scenario import fault_kinds

NONE = "no fault explains it"


def of_object(item: records.FaultApplied, name: str, count: int) -> str:
    """Return the clause for faults that hit the claim `name` or its status writes.

    `item` is the last of `count` applications.
    """
    return _clause(item, _words(item).format(name=name, lasted=_lasted(item)), count)


def of_process(item: records.FaultApplied, count: int) -> str:
    """Return the clause for faults of one process; `item` is the last of `count` applications."""
    process = _named(item.process)
    return _clause(item, _words(item).format(process=process, lasted=_lasted(item)), count)


def of_watch(item: records.FaultApplied, name: str) -> str:
    """Return the clause for a watch that ended before it showed the allocation of `name`."""
    return _clause(item, _words(item).format(client=_named(item.client), name=name), 1)


def of_event(item: records.FaultApplied, name: str, *, is_behind: bool) -> str:
    """Return the clause for the late event of the allocation of `name`.

    `is_behind`: an earlier event was delayed, which this one could not overtake.
    """
    event, client = f"the event of the allocation of {name}", _named(item.client)
    if item.ended_ns is None:
        return _clause(item, f"{event} did not reach {client}", 1)
    if is_behind:
        text = f"{event} waited behind one that reached {client} {_lasted(item)} late"
        return _clause(item, text, 1)
    return _clause(item, f"{event} reached {client} {_lasted(item)} late", 1)


def of_read(item: records.FaultApplied, name: str) -> str:
    """Return the clause for a read that showed a state from before the allocation of `name`."""
    version = f" (resourceVersion {item.resource_version})" if item.resource_version else ""
    text = f"{_named(item.client)} read a state{version} from before the allocation of {name}"
    return _clause(item, text, 1)


def sentence(
    clauses: Sequence[str], first: str, second: str, *, versions: int, is_unseen: bool
) -> str:
    """Join the clauses about a double allocation by the claims `first` and `second`.

    `versions` lie between the two allocations; `is_unseen`: the event of the first one had not
    reached the scheduler when the second one was committed.
    """
    if not clauses:
        return NONE
    *others, last = clauses
    joined = f"{', '.join(others)}, and {last}" if others else last
    distance = "1 version" if versions == 1 else f"{versions:,} versions"
    if is_unseen:
        return (
            f"{joined}: when {second} was allocated, {distance} after {first}, "
            "the scheduler could not know of it"
        )
    return f"{joined}; {second} was allocated {distance} after {first}"


def follows(other: str, released_rv: int, first: str) -> str:
    """Return the sentence for a double allocation that follows from an earlier one.

    `other` released the device at `released_rv`, while `first` held it too.
    """
    return (
        f"it follows from an earlier one: {other} had the device too, and its release at "
        f"resourceVersion {released_rv} made it look free while {first} still held it"
    )


def _words(item: records.FaultApplied) -> str:
    return fault_kinds.of(item.kind).clause


def _clause(item: records.FaultApplied, text: str, count: int) -> str:
    times = "" if count == 1 else f" {count:,} times"
    return f"{text}{times} ({item.fault})"


def _named(process: str) -> str:
    return f"the {process}" if process == "scheduler" else process


def _lasted(item: records.FaultApplied) -> str:
    """Return the duration of an effect, or that it did not end."""
    if item.ended_ns is None:
        return "the rest of the run"
    ms = (item.ended_ns - item.begun_ns) / 1e6
    return f"{ms / 1e3:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"

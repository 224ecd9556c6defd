"""The record of faults that belongs to a history of the language."""

import msgspec

from harness.history import records
from tests.histories import language

CLIENT = "scheduler"
"""Whose calls and watches are hit."""
_OF_EVENTS = ("delay-events", "drop-watch", "expire-watch")


def applications(text: str, *, names: language.Names | None = None) -> list[records.FaultApplied]:
    """Every fault that took effect, in order; each fault has the name of its kind."""
    world = language.World(names or {})
    newest: dict[str, records.Observation] = {}
    found = []
    for item in language.parse(text):
        if isinstance(item, language.Commit):
            seen = world.commit(item)
            if seen is not None and seen.resource == language.CLAIMS:
                newest[item.name] = seen
        elif isinstance(item, language.Fault):
            found.append(_applied(item, newest.get(item.claim), names or {}))
    return found


def _applied(
    fault: language.Fault, seen: records.Observation | None, names: language.Names
) -> records.FaultApplied:
    plain = records.FaultApplied(
        fault=fault.kind,
        kind=fault.kind,
        process=fault.process,
        begun_ns=fault.begun_ns,
        ended_ns=fault.ended_ns,
    )
    if fault.process:
        return plain
    is_event = fault.kind in _OF_EVENTS
    is_list = bool(fault.listed_rv)
    return msgspec.structs.replace(
        plain,
        client=CLIENT,
        verb="list" if is_list else "watch" if is_event else "update",
        resource=language.CLAIMS,
        subresource="" if is_list or is_event else "status",
        namespace=language.NAMESPACE,
        name=names.get(fault.claim, fault.claim),
        event_type="MODIFIED" if is_event else "",
        resource_version=seen.resource_version if seen else fault.listed_rv,
    )

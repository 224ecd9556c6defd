"""The rule of a carrier for each fault of API calls and watch events."""

from collections.abc import Sequence
from typing import Any

import msgspec

from harness.faults import injection, matching
from harness.scenario import fault_specs

_ALL = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_ANSWERED = tuple(verb for verb in _ALL if verb != "watch")
_READS = ("get", "list")
_WATCH = ("watch",)
_DELETIONS = ("delete",)
REASONS = {
    409: "Conflict",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""Reasons of the Status by HTTP status code, as API servers send them."""


def point(spec: fault_specs.TrafficFault) -> injection.Point:
    """Return the point at which a fault applies."""
    match spec:
        case (
            fault_specs.LoseRequest()
            | fault_specs.DelayRequest()
            | fault_specs.RejectRequest()
            | fault_specs.StaleRead()
            | fault_specs.OverlookFinalizers()
        ):
            return "request"
        case fault_specs.TruncateResponse() if spec.on.verbs == ["watch"]:
            return "event"
        case (
            fault_specs.LoseResponse()
            | fault_specs.DelayResponse()
            | fault_specs.TruncateResponse()
        ):
            return "response"
        case _:
            return "event"


def possible_verbs(spec: fault_specs.TrafficFault) -> tuple[str, ...]:
    """Return the verbs that a fault of this kind can apply to."""
    if isinstance(spec, fault_specs.StaleRead):
        return _READS
    if isinstance(spec, fault_specs.OverlookFinalizers):
        return _DELETIONS
    return {"request": _ALL, "response": _ANSWERED, "event": _WATCH}[point(spec)]


def verbs(spec: fault_specs.TrafficFault) -> tuple[str, ...]:
    """Return the verbs that a fault applies to: those of its target, or else all possible ones."""
    return tuple(spec.on.verbs) or possible_verbs(spec)


def rule(
    name: str, spec: fault_specs.TrafficFault, *, clients: Sequence[str], seed: int
) -> injection.FaultSpec:
    """Return the rule; `seed` is that of its probability."""
    on = spec.on
    return injection.FaultSpec(
        name=name,
        point=point(spec),
        action=_action(spec),
        match=matching.Match(
            clients=tuple(clients),
            verbs=verbs(spec),
            resource=on.resource,
            subresource=on.subresource,
            name=on.name,
            event_types=_event_types(spec),
        ),
        skip=spec.skip,
        every=spec.every,
        count=spec.times,
        probability=spec.probability,
        seed=seed,
    )


def document(found: injection.FaultSpec) -> dict[str, Any]:
    """Return a rule as the JSON document that carriers receive."""
    built: dict[str, Any] = msgspec.to_builtins(found)
    return built


def _action(spec: fault_specs.TrafficFault) -> injection.Action:
    match spec:
        case fault_specs.LoseRequest() | fault_specs.LoseResponse():
            return injection.Lose()
        case fault_specs.DelayRequest() | fault_specs.DelayResponse() | fault_specs.DelayEvents():
            return injection.Delay(seconds=spec.seconds)
        case fault_specs.RejectRequest():
            return injection.Reject(
                code=spec.code,
                reason=REASONS[spec.code],
                retry_after_seconds=spec.retry_after_s,
            )
        case fault_specs.TruncateResponse():
            return injection.Truncate()
        case fault_specs.StaleRead():
            return injection.Stale(seconds=spec.seconds)
        case fault_specs.OverlookFinalizers():
            return injection.Overlook(seconds=spec.seconds)
        case fault_specs.DropWatch():
            return injection.Drop()
        case fault_specs.ExpireWatch():
            return injection.Gone()
        case fault_specs.StarveBookmarks():
            return injection.Omit()


def _event_types(spec: fault_specs.TrafficFault) -> tuple[Any, ...]:
    match spec:
        case fault_specs.DelayEvents():
            return tuple(spec.event_types)
        case fault_specs.StarveBookmarks():
            return ("BOOKMARK",)
    return ()

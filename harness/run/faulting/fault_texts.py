"""Planned faults in words, one sentence each, for the plan, the progress and the report."""

from collections.abc import Sequence
from typing import TypeGuard

from harness.run.faulting import traffic_rules
from harness.scenario import fault_specs


def sentence(spec: fault_specs.TrafficFault | fault_specs.RunFault, clients: Sequence[str]) -> str:
    """Return what a fault does, to whom, when and for how long; `clients` are processes."""
    what = _of_traffic(spec, clients) if is_traffic(spec) else _of_run(spec, clients)
    text = f"{what}{_when(spec)}{_how_long(spec)}."
    return text[0].upper() + text[1:] + _warning(spec)


def is_traffic(
    spec: fault_specs.TrafficFault | fault_specs.RunFault,
) -> TypeGuard[fault_specs.TrafficFault]:
    """Return whether a fault applies to API calls or watch events."""
    return hasattr(spec, "on")


def _of_traffic(spec: fault_specs.TrafficFault, clients: Sequence[str]) -> str:
    effect = _effect(spec)
    return f"{_amount(spec)}{_target(spec)} of {' and '.join(clients)} {effect}"


def _effect(spec: fault_specs.TrafficFault) -> str:
    match spec:
        case fault_specs.LoseRequest():
            return "is lost before it is carried out"
        case fault_specs.LoseResponse():
            return "is carried out, and its answer is lost"
        case fault_specs.DelayRequest():
            return f"reaches the API server {spec.seconds:g} s late"
        case fault_specs.DelayResponse():
            return f"is carried out, and its answer arrives {spec.seconds:g} s late"
        case fault_specs.RejectRequest():
            after = f" with Retry-After {spec.retry_after_s} s" if spec.retry_after_s else ""
            return f"is answered {spec.code}{after} and not carried out"
        case fault_specs.TruncateResponse():
            return "is answered with a body that breaks off in the middle"
        case fault_specs.StaleRead():
            return f"shows the state of {spec.seconds:g} s ago"
        case fault_specs.DelayEvents():
            return f"arrives {spec.seconds:g} s late"
        case fault_specs.DropWatch():
            return "is replaced by the end of the watch's connection"
        case fault_specs.ExpireWatch():
            return "is replaced by 410, which ends the watch"
        case fault_specs.StarveBookmarks():
            return "is left out"


def _amount(spec: fault_specs.TrafficFault) -> str:
    """Return which of the matching calls are hit: `every 3rd`, `each of the first 20`, …"""
    parts = ["each"] if spec.every == 1 else [f"each {spec.every}th"]
    if spec.probability < 1:
        parts.append(f"(with probability {spec.probability:g})")
    if spec.skip:
        parts.append(f"after the first {spec.skip}")
    if spec.times is not None:
        parts.append(f"(at most {spec.times})")
    return " ".join(parts) + " "


def _target(spec: fault_specs.TrafficFault) -> str:
    on = spec.on
    resource = on.resource or "any resource"
    if on.subresource:
        resource += f"/{on.subresource}"
    if on.name:
        resource += f" named {on.name}"
    if traffic_rules.point(spec) == "event":
        return f"{_event(spec)} of {resource}"
    chosen = traffic_rules.verbs(spec)
    named = "call" if chosen == traffic_rules.possible_verbs(spec) else " or ".join(chosen)
    return f"{named} of {resource}"


def _event(spec: fault_specs.TrafficFault) -> str:
    match spec:
        case fault_specs.StarveBookmarks():
            return "bookmark"
        case fault_specs.DelayEvents() if spec.event_types:
            return f"event {' or '.join(spec.event_types)}"
    return "watch event"


def _of_run(spec: fault_specs.RunFault, clients: Sequence[str]) -> str:
    process = " and ".join(clients)
    match spec:
        case fault_specs.TouchObjects():
            return (
                f"another client changes an annotation of {spec.resource} named {spec.object_name}, "
                f"{spec.rate_per_s:g} times a second"
            )
        case fault_specs.RestartApiServer():
            end = "is killed" if spec.kill else "is stopped"
            return f"the API server {end} and starts again {spec.down_s:g} s later{_times(spec)}"
        case fault_specs.KillProcess():
            return f"{process} is killed and starts again {spec.down_s:g} s later{_times(spec)}"
        case fault_specs.RestartProcess():
            return f"{process} is stopped and starts again {spec.down_s:g} s later{_times(spec)}"
        case fault_specs.PauseProcess():
            return f"{process} stands still for {spec.seconds:g} s{_times(spec)}"
        case fault_specs.TakeOver():
            end = {"kill": "killed", "terminate": "stopped", "pause": "paused"}[spec.ends]
            order = (
                f"a second scheduler starts, and {spec.overlap_s:g} s later {process} is {end}"
                if spec.overlap_s
                else f"{process} is {end}, and a second scheduler takes over"
            )
            return order


def _times(
    spec: fault_specs.RestartApiServer
    | fault_specs.KillProcess
    | fault_specs.RestartProcess
    | fault_specs.PauseProcess,
) -> str:
    return f", {spec.times} times, {spec.interval_s:g} s apart" if spec.times > 1 else ""


def _when(spec: fault_specs.TrafficFault | fault_specs.RunFault) -> str:
    late = f"{spec.start_s:g} s after " if spec.start_s else ""
    if spec.start_after is not None:
        after = spec.start_after
        times = f"{after.applied} times" if after.applied > 1 else "once"
        return f", from {late or 'when '}{after.fault} has taken effect {times}"
    return f", from {late or ''}the start of the load" if late else ""


def _how_long(spec: fault_specs.TrafficFault | fault_specs.RunFault) -> str:
    duration_s: float | None = getattr(spec, "duration_s", None)
    return f", for {duration_s:g} s" if duration_s is not None else ""


def _warning(spec: fault_specs.TrafficFault | fault_specs.RunFault) -> str:
    on = getattr(spec, "on", None)
    if on is not None and on.role == "recorder":
        return " The recorder's evidence is not complete then, so that the verdict is UNKNOWN."
    return ""

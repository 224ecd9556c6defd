"""Planned faults in words, one sentence each, for the plan, the progress and the report."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from harness.run.fault_planning import traffic_rules
from harness.scenario import fault_specs


def sentence(spec: fault_specs.TrafficFault | fault_specs.RunFault, clients: Sequence[str]) -> str:
    """Return what a fault does, to whom, when and for how long; `clients` are processes."""
    match spec:
        case (
            fault_specs.TouchObjects()
            | fault_specs.ReallocateClaims()
            | fault_specs.RestartApiServer()
            | fault_specs.ProcessFault()
            | fault_specs.LoseNode()
            | fault_specs.TakeOver()
            | fault_specs.PluginFault()
        ):
            what = _of_run(spec, clients)
        case _:
            what = _of_traffic(spec, clients)
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


_EFFECTS: Mapping[str, str] = {
    "lose-request": "is lost before it is carried out",
    "lose-response": "is carried out, and its answer is lost",
    "delay-request": "reaches the API server {seconds:g} s late",
    "delay-response": "is carried out, and its answer arrives {seconds:g} s late",
    "reject": "is answered {code}{after} and not carried out",
    "truncate-response": "is answered with a body that breaks off in the middle",
    "stale-list": "shows the state of {seconds:g} s ago",
    "overlook-finalizers": "does not see finalizers that were added in the {seconds:g} s before",
    "delay-events": "arrives {seconds:g} s late",
    "drop-watch": "is not sent; the watch's connection closes instead",
    "expire-watch": "is not sent; the watch ends with 410 instead",
    "starve-bookmarks": "is left out",
}
"""The effect on a call or event, by the kind of the fault."""


def _effect(spec: fault_specs.TrafficFault) -> str:
    retry_after_s = getattr(spec, "retry_after_s", None)
    return _EFFECTS[spec.kind].format(
        seconds=getattr(spec, "seconds", 0.0),
        code=getattr(spec, "code", 0),
        after=f" with Retry-After {retry_after_s} s" if retry_after_s else "",
    )


def _amount(spec: fault_specs.TrafficFault) -> str:
    """Return which of the matching calls are hit: `each 3rd (at most 20, after the first 5) `."""
    bounds = []
    if spec.times is not None:
        bounds.append(f"at most {spec.times}")
    if spec.skip:
        bounds.append(f"after the first {spec.skip}")
    if spec.probability < 1:
        bounds.append(f"with probability {spec.probability:g}")
    each = "each " if spec.every == 1 else f"each {_ordinal(spec.every)} "
    return each + (f"({', '.join(bounds)}) " if bounds else "")


def _ordinal(number: int) -> str:
    """Return `2nd`, `3rd`, `4th`, `11th`, `21st`, …"""
    endings = {1: "st", 2: "nd", 3: "rd"}
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else endings.get(number % 10, 'th')}"


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
        case (
            fault_specs.TouchObjects() | fault_specs.ReallocateClaims() | fault_specs.PluginFault()
        ):
            return _of_client(spec)
        case fault_specs.RestartApiServer():
            end = "is killed" if spec.kill else "is stopped"
            return f"the API server {end} and starts again {spec.down_s:g} s later{_times(spec)}"
        case fault_specs.KillProcess():
            return f"{process} is killed and starts again {spec.down_s:g} s later{_times(spec)}"
        case fault_specs.RestartProcess():
            return f"{process} is stopped and starts again {spec.down_s:g} s later{_times(spec)}"
        case fault_specs.PauseProcess():
            return f"{process} stands still for {spec.seconds:g} s{_times(spec)}"
        case fault_specs.LoseNode():
            end = f"comes back {spec.down_s:g} s later" if spec.comes_back else "is removed"
            return f"the last node is lost with {process}, its pods are deleted, and it {end}{_times(spec)}"
        case fault_specs.TakeOver():
            end = {"kill": "killed", "terminate": "stopped", "pause": "paused"}[spec.ends]
            if spec.overlap_s:
                return (
                    f"a second scheduler starts, and {spec.overlap_s:g} s later {process} is {end}"
                )
            return f"{process} is {end}, and a second scheduler takes over"


def _of_client(
    spec: fault_specs.TouchObjects | fault_specs.ReallocateClaims | fault_specs.PluginFault,
) -> str:
    """Return what another client of the API server does."""
    match spec:
        case fault_specs.TouchObjects():
            return (
                f"another client changes an annotation of {spec.resource} named {spec.object_name}, "
                f"{spec.rate_per_s:g} times a second"
            )
        case fault_specs.ReallocateClaims():
            return f"another client moves an allocated claim to a free device{_times(spec)}"
        case fault_specs.PluginFault():
            return f"the plug-in {spec.plugin} injects its fault"


def _times(
    spec: fault_specs.ReallocateClaims
    | fault_specs.RestartApiServer
    | fault_specs.KillProcess
    | fault_specs.RestartProcess
    | fault_specs.PauseProcess
    | fault_specs.LoseNode,
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

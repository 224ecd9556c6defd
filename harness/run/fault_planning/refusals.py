"""Faults that cannot work in a run: found when it is planned, each with the reason and a remedy."""

import dataclasses
from collections.abc import Iterator

from harness import errors, suggestions
from harness.cluster import interfaces
from harness.extensions import descriptions, discovery
from harness.run.fault_planning import client_calls, object_names, traffic_rules
from harness.scenario import fault_specs, specs, traffic_specs

AnySpec = fault_specs.TrafficFault | fault_specs.RunFault


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The run that the faults are for."""

    scenario: specs.Scenario
    """With the resolved subject."""
    on: interfaces.Capabilities
    provider: str

    @property
    def longest_s(self) -> float:
        """Return the longest time that the load may take, in seconds."""
        return self.scenario.traffic.longest_s or self.scenario.timeout_s


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NamedFault:
    """A fault with its name in the run."""

    name: str
    spec: AnySpec
    drawn_by: str = ""
    """Name of the nemesis that has drawn it; empty: the scenario names it."""


def require_possible(fault: NamedFault, run: Circumstances) -> None:
    """Raise UsageError if the fault cannot work in the run."""
    for objection in objections(fault.spec, run):
        raise errors.UsageError(f"fault {fault.name}: {objection}")


def objections(spec: AnySpec, run: Circumstances) -> Iterator[str]:
    """Yield a sentence for each reason why a fault cannot work in the run."""
    match spec:
        case fault_specs.RestartApiServer():
            yield from _of_api_server(run)
        case fault_specs.TouchObjects():
            yield from _of_names(spec.resource, spec.object_name, run)
        case fault_specs.ReallocateClaims():
            yield from _of_claims(run)
        case fault_specs.LoseNode():
            yield from _of_node(spec, run)
        case fault_specs.PluginFault():
            yield from _of_plugin(spec)
        case fault_specs.TakeOver():
            yield from _of_role("scheduler", run)
        case fault_specs.ProcessFault():
            if not client_calls.ended_processes(spec.role, run.scenario.subject, run.on):
                yield from _of_role(spec.role, run)
        case _:
            yield from _of_traffic(spec, run)
    yield from _of_time(spec, run)


# ------------------------------------------------------------------------------ traffic


def _of_traffic(spec: fault_specs.TrafficFault, run: Circumstances) -> Iterator[str]:
    objections = list(_of_role(spec.on.role, run)) or list(_of_verbs(spec))
    if objections:
        yield from objections
        return
    yield from _of_target(spec)
    yield from _of_calls(spec, run)
    if spec.on.name:
        yield from _of_names(spec.on.resource, spec.on.name, run)


def _of_claims(run: Circumstances) -> Iterator[str]:
    """Check that claims can be moved, which is possible with one device each."""
    claim = run.scenario.claim
    if run.scenario.claims or claim.requests or run.scenario.pools.more:
        yield (
            "expected claims without requests, and pools without further kinds, got some: remove "
            "them, or remove the fault"
        )
    elif claim.devices != 1 or claim.admin_access:
        yield (
            f"expected claims of one device without admin access, got claim.devices = "
            f"{claim.devices}: change [claim], or remove the fault"
        )


def _of_node(spec: fault_specs.LoseNode, run: Circumstances) -> Iterator[str]:
    """Check that a node can be lost: others are left, and the load makes its pods again."""
    if run.scenario.pools.nodes < 2:
        yield "expected another node that is left, got pools.nodes = 1: add nodes"
    for kind in run.scenario.pools.more:
        if kind.place in ("zone", "cluster"):
            yield (
                f"expected devices of one node each, got pools.more {kind.name!r} of several nodes, "
                "and the driver of the lost node is a process of its own: remove them"
            )
    if isinstance(run.scenario.traffic, traffic_specs.AllAtOnceTraffic):
        yield (
            "expected a load that replaces the pods of the lost node, got traffic.profile = "
            "'all-at-once': use churn or shared"
        )
    if spec.times > 1 and not spec.comes_back:
        yield f"expected times = 1 for a node that never comes back, got {spec.times}: remove it"


def _of_plugin(spec: fault_specs.PluginFault) -> Iterator[str]:
    """Check that the plug-in is there and can be loaded."""
    try:
        objection = descriptions.problem(discovery.require("faults", spec.plugin))
    except errors.PluginError as error:
        objection = str(error)
    if objection:
        yield objection


def _of_role(role: fault_specs.Role, run: Circumstances) -> Iterator[str]:
    """Check that the run starts the processes of the role, because only they can be hit."""
    subject = run.scenario.subject
    if role == "scheduler" and (foreign := client_calls.foreign_schedulers(subject)):
        yield (
            f"expected schedulers that the run starts, got subject {foreign[0]!r}, whose process and "
            "connections belong to others: use --subject kube-scheduler, or remove the fault"
        )
    elif not client_calls.processes(role, subject):
        yield (
            f"expected a role of this run, got {role!r}, but the cluster runs its own "
            "ResourceClaim controller: use a cluster profile without it, or remove the fault"
        )


def _of_verbs(spec: fault_specs.TrafficFault) -> Iterator[str]:
    possible = traffic_rules.possible_verbs(spec)
    for verb in spec.on.verbs:
        if verb not in possible and len(spec.on.verbs) > 1 and verb == "watch":
            yield (
                f"expected on.verbs without watch beside others for {spec.kind}: make two faults of it"
            )
        elif verb not in possible:
            yield (
                f"expected on.verbs among {', '.join(possible)} for {spec.kind}, got {verb}: "
                "leave the others out"
            )


def _of_target(spec: fault_specs.TrafficFault) -> Iterator[str]:
    """Check that the conditions can hold together."""
    on, chosen = spec.on, set(traffic_rules.verbs(spec))
    if isinstance(spec, fault_specs.StarveBookmarks) and on.name:
        yield f"expected no on.name, because bookmarks belong to no object, got {on.name!r}: remove it"
    elif traffic_rules.point(spec) == "event" and on.subresource:
        yield (
            f"expected no on.subresource, because watches show whole objects, got {on.subresource!r}: "
            "remove it"
        )
    elif on.name and traffic_rules.point(spec) != "event" and chosen <= _OF_COLLECTIONS:
        yield (
            f"expected no on.name, because {' and '.join(sorted(chosen))} name no object, "
            f"got {on.name!r}: remove it"
        )
    if on.subresource and not on.resource:
        yield (
            f"expected on.resource with on.subresource, got only {on.subresource!r}: add the resource"
        )


_OF_COLLECTIONS = {"list", "watch", "deletecollection"}


def _of_calls(spec: fault_specs.TrafficFault, run: Circumstances) -> Iterator[str]:
    """Check that the role makes such calls, as far as they are known."""
    on = spec.on
    made = client_calls.made_by(on.role, run.scenario.subject)
    chosen = frozenset(traffic_rules.verbs(spec))
    if made is None or client_calls.selected(made, on, chosen):
        return
    resources = sorted({key.partition("/")[0] for key in made})
    if on.resource and on.resource not in resources:
        near = suggestions.did_you_mean(on.resource, resources)
        yield (
            f"expected on.resource to be one that {on.role} uses ({', '.join(resources)}), "
            f"got {on.resource!r}.{near}"
        )
        return
    its = {key: verbs for key, verbs in made.items() if key.partition("/")[0] == on.resource}
    target = on.resource + (f"/{on.subresource}" if on.subresource else "")
    yield (
        f"expected calls that {on.role} makes, got {' or '.join(sorted(chosen))} of "
        f"{target or 'any resource'}, and it never does that: choose among "
        f"{client_calls.in_words(its or made)}"
    )


def _of_names(resource: str, pattern: str, run: Circumstances) -> Iterator[str]:
    """Check that an object can have such a name, as far as names are known."""
    shapes = object_names.shapes(resource, run.scenario)
    if shapes and not any(object_names.can_match(pattern, shape) for shape in shapes):
        yield (
            f"expected a pattern of names that {resource} of this run can have, such as "
            f"{object_names.example(shapes)}, got {pattern!r}: correct it, or leave it out"
        )


# ------------------------------------------------------------------------ cluster and time

_RESTARTABLE = {"embedded": "add --cluster-set storage=disk"}
"""How the API server of a provider can be made restartable."""


def _of_api_server(run: Circumstances) -> Iterator[str]:
    if not run.on.exclusive:
        yield (
            "expected a cluster of this run alone, because others would lose their API server: "
            "use --cluster embedded, local or kind, or remove the fault"
        )
    elif not run.on.restarts_api_server:
        remedy = _RESTARTABLE.get(run.provider, "use --cluster local")
        yield (
            f"expected a cluster whose API server can be restarted on its data, got {run.provider!r}, "
            f"which cannot: {remedy}, or remove the fault"
        )


def _of_time(spec: AnySpec, run: Circumstances) -> Iterator[str]:
    """Check that the fault can begin and end while there is load."""
    length_s = length(spec)
    if spec.start_s >= run.longest_s:
        yield (
            f"expected start_s below {run.longest_s:g}, the longest time of the load in seconds, "
            f"got {spec.start_s:g}: begin earlier, or make the load longer"
        )
    elif spec.start_s + length_s > run.longest_s:
        yield (
            f"expected it to end within {run.longest_s:g} s, the longest time of the load, because "
            f"it cannot be healed before, but it takes {length_s:g} s from {spec.start_s:g} s: "
            "shorten it, or make the load longer"
        )


def length(spec: AnySpec) -> float:
    """Return the seconds that a fault of a process or API server takes; 0 for all others."""
    match spec:
        case fault_specs.PauseProcess():
            once = spec.seconds
        case (
            fault_specs.KillProcess()
            | fault_specs.RestartProcess()
            | fault_specs.RestartApiServer()
        ):
            once = spec.down_s
        case fault_specs.LoseNode():
            once = spec.down_s if spec.comes_back else 0.0
        case fault_specs.TakeOver():
            return spec.overlap_s
        case _:
            return 0.0
    return spec.times * once + (spec.times - 1) * spec.interval_s

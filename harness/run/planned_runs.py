"""The run that faults are planned for: its processes, their API calls, and its objects' names.

By them a fault that cannot hit anything is found before the run starts.
"""

import fnmatch
import functools
from collections.abc import Iterator

from harness.cluster import interfaces
from harness.model import naming
from harness.run import subjects
from harness.run.programs import driver_commands
from harness.scenario import pool_specs, specs, subject_specs, traffic_specs
from harness.scenario.fault_kinds import fault, lost_nodes
from harness.traffic import objects

_RECORDER, _KUBELET, _TRAFFIC = "recorder", "kubelet", "traffic"
"""Process names, as in `run_processes`."""
_ANY = "*"
"""Stands for any text at the end of a shape of names."""


def _calls(**verbs: str) -> fault.Calls:
    """Return calls from `resource="verb verb"`; `__` stands for the slash of a subresource."""
    return {name.replace("__", "/"): frozenset(text.split()) for name, text in verbs.items()}


_FOLLOWED = "get list watch"
_PYTHON_SCHEDULER = _calls(
    nodes=_FOLLOWED,
    deviceclasses=_FOLLOWED,
    resourceslices=_FOLLOWED,
    resourceclaims=f"{_FOLLOWED} update",
    resourceclaims__status="update patch",
    pods=_FOLLOWED,
    pods__binding="create",
    leases="get create update patch",
)
_KUBE_SCHEDULER = _calls(
    nodes=_FOLLOWED,
    namespaces=_FOLLOWED,
    deviceclasses=_FOLLOWED,
    devicetaintrules=_FOLLOWED,
    resourceslices=_FOLLOWED,
    resourceclaims=f"{_FOLLOWED} update patch",
    resourceclaims__status="update patch",
    pods=f"{_FOLLOWED} delete",
    pods__binding="create",
    pods__status="update patch",
    events="create update patch",
    leases="get create update",
    leasecandidates="list watch",
    services=_FOLLOWED,
    replicationcontrollers=_FOLLOWED,
    replicasets=_FOLLOWED,
    statefulsets=_FOLLOWED,
    poddisruptionbudgets=_FOLLOWED,
    persistentvolumes=f"{_FOLLOWED} update patch",
    persistentvolumeclaims=f"{_FOLLOWED} update patch",
    storageclasses=_FOLLOWED,
    csinodes=_FOLLOWED,
    csidrivers=_FOLLOWED,
    csistoragecapacities=_FOLLOWED,
)
"""Calls that the ClusterRole `system:kube-scheduler` allows."""
_CLAIM_CONTROLLER = _calls(
    resourceclaimtemplates=_FOLLOWED,
    resourceclaims=f"{_FOLLOWED} create update delete",
    resourceclaims__status="update",
    pods=_FOLLOWED,
    pods__status="patch",
)
_EVICTOR = _calls(resourceslices=_FOLLOWED, devicetaintrules=_FOLLOWED, pods=f"{_FOLLOWED} delete")
"""Calls of the part that evicts pods by taints of their devices."""
_KUBE_CONTROLLER_MANAGER = {
    **_CLAIM_CONTROLLER,
    **_calls(
        resourceclaims=f"{_FOLLOWED} create update patch delete",
        resourceclaims__status="update patch",
        pods__status="update patch",
        events="create update patch",
    ),
}
"""Calls that the ClusterRole of its ResourceClaim controller allows, as far as it makes them."""
_KUBELETS = _calls(
    nodes="list watch",
    resourceclaims="list watch",
    pods="list watch delete",
    pods__status="patch",
    leases="create patch",
)
_LOAD = _calls(
    resourceclaims="create delete",
    resourceclaimtemplates="create",
    pods="create delete list watch",
)
_OBSERVER = _calls(resourceclaims="list watch", pods="list watch", resourceslices="list watch")


class PlannedRun(fault.Run):
    """The run of a scenario whose subject is resolved."""

    def __init__(
        self, scenario: specs.Scenario, on: interfaces.Capabilities, provider: str
    ) -> None:
        subject = scenario.subject
        controllers = subjects.owned_controllers(subject)
        processes: dict[fault.Role, list[str]] = {
            "scheduler": subjects.owned_schedulers(subject),
            "claim-controller": controllers,
            "kubelet": [_KUBELET],
            "load": [_TRAFFIC],
            "recorder": [_RECORDER],
        }
        is_hit = any(item.needs_own_kubelet for item in scenario.faults)
        of_cluster = [on.claim_controller_process] if on.claim_controller_process else []
        super().__init__(
            pools=scenario.pools,
            claims=scenario.claim_kinds,
            traffic=scenario.traffic,
            provider=provider,
            is_alone=on.exclusive,
            restarts_api_server=on.restarts_api_server,
            longest_s=scenario.traffic.longest_s or scenario.timeout_s,
            processes=processes,
            ended={
                "scheduler": processes["scheduler"],
                "claim-controller": controllers or of_cluster,
                "kubelet": processes["kubelet"],
                "driver": [place.process for place in driver_commands.of_run(scenario)],
            },
            foreign_schedulers=[
                item.kind for item in subject.schedulers if not isinstance(item, subjects.OWNED)
            ],
            foreign_controller="" if controllers else str(subject.claim_controller),
            calls={
                "scheduler": _of_schedulers(subject),
                "claim-controller": _of_controller(scenario),
                "kubelet": _KUBELETS,
                "load": _LOAD,
                "recorder": _OBSERVER,
            },
            reboots_driver=_reboots_driver(scenario),
            kubelets=[_KUBELET, lost_nodes.KUBELET] if is_hit else [_KUBELET],
            name_objections=functools.partial(_name_objections, scenario),
        )


def _reboots_driver(scenario: specs.Scenario) -> bool:
    """Return whether a process of its own serves the last node, or the driver is no process."""
    places = driver_commands.of_run(scenario)
    is_alone = any(len(place.nodes) == 1 for place in places)
    return is_alone or driver_commands.of(scenario.subject).is_in_process


def _of_schedulers(subject: subject_specs.SubjectSpec) -> fault.Calls | None:
    found: dict[str, frozenset[str]] = {}
    for scheduler in subject.schedulers:
        match scheduler:
            case subject_specs.PythonScheduler():
                calls = _PYTHON_SCHEDULER
            case subject_specs.KubeScheduler():
                calls = _KUBE_SCHEDULER
            case _:
                return None
        found |= {key: found.get(key, frozenset()) | verbs for key, verbs in calls.items()}
    return found


def _of_controller(scenario: specs.Scenario) -> fault.Calls:
    is_ours = scenario.subject.claim_controller == "python"
    calls = _CLAIM_CONTROLLER if is_ours else _KUBE_CONTROLLER_MANAGER
    return {**calls, **_EVICTOR} if scenario.pools.evicts else calls


# -------------------------------------------------------------------------- names of objects


def _name_objections(scenario: specs.Scenario, resource: str, pattern: str) -> Iterator[str]:
    shapes = _name_shapes(resource, scenario)
    if shapes and not any(_can_match(pattern, shape) for shape in shapes):
        yield (
            f"expected a pattern of names that {resource} of this run can have, such as "
            f"{shapes[0]!r}, got {pattern!r}: correct it, or leave it out"
        )


def _name_shapes(resource: str, scenario: specs.Scenario) -> list[str]:
    """Return the names of a resource's objects, or prefixes of them that end with _ANY.

    Empty if nothing is known about them.
    """
    match resource, scenario.traffic:
        case "nodes", _:
            return _nodes(scenario.pools)
        case "resourceslices", _:
            return _slices(scenario.pools)
        case "deviceclasses", _:
            kinds = ["", *(kind.name for kind in scenario.pools.more)]
            found = scenario.pools.imported
            given = map(scenario.pools.imported_class, found.classes if found else ())
            return [*map(scenario.pools.class_of, kinds), *given]
        case "resourceclaims", traffic_specs.AllAtOnceTraffic() as traffic:
            return [f"claim-{number:04d}" for number in range(traffic.pods)]
        case "pods", traffic_specs.AllAtOnceTraffic() as traffic:
            return [f"pod-{number:04d}" for number in range(traffic.pods)]
        case "resourceclaims", traffic_specs.LimitTraffic():
            return [objects.SHARED_CLAIM]
        case "pods", traffic_specs.LimitTraffic() as traffic:
            return [f"pod-{number:04d}" for number in range(traffic.pods)]
        case "pods" | "resourceclaims", traffic:
            return [f"{name}{_ANY}" for name in traffic.process_names]
    return []


def _can_match(pattern: str, shape: str) -> bool:
    if not shape.endswith(_ANY):
        return fnmatch.fnmatchcase(shape, pattern)
    prefix, literal = shape.removesuffix(_ANY), _literal_start(pattern)
    if literal == pattern:
        return pattern.startswith(prefix)
    return literal.startswith(prefix) or prefix.startswith(literal)


def _nodes(pools: pool_specs.PoolsSpec) -> list[str]:
    return [naming.node(number, prefix=pools.node_prefix) for number in range(pools.nodes)]


def _slices(pools: pool_specs.PoolsSpec) -> list[str]:
    names = _nodes(pools)
    names += [f"{pools.node_prefix}{kind.name}" for kind in pools.more if kind.is_of_cluster]
    names += [pools.node_prefix] * pools.has("several-nodes")
    return [f"{name}{_ANY}" for name in names]


def _literal_start(pattern: str) -> str:
    """Return the part of a shell pattern before its first special character."""
    ends = [pattern.index(mark) for mark in "*?[" if mark in pattern]
    return pattern[: min(ends, default=len(pattern))]

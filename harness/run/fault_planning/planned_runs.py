"""The run that faults are planned for: its processes, their API calls, and its objects' names.

By them a fault that cannot hit anything is found before the run starts.
"""

import dataclasses
import fnmatch
from collections.abc import Iterator, Sequence

from harness.cluster import interfaces
from harness.model import naming
from harness.run import subjects
from harness.scenario import claim_specs, pool_specs, specs, subject_specs, traffic_specs
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run that is planned (a `fault.Run`)."""

    scenario: specs.Scenario
    """The scenario with the resolved subject."""
    on: interfaces.Capabilities
    provider: str

    @property
    def pools(self) -> pool_specs.PoolsSpec:
        """The nodes and devices."""
        return self.scenario.pools

    @property
    def claims(self) -> Sequence[claim_specs.ClaimSpec]:
        """The kinds of claims; at least one."""
        return self.scenario.claim_kinds

    @property
    def traffic(self) -> traffic_specs.TrafficSpec:
        """The load."""
        return self.scenario.traffic

    @property
    def subject(self) -> subject_specs.SubjectSpec:
        """The resolved subject."""
        return self.scenario.subject

    @property
    def kubelets(self) -> list[str]:
        """The kubelet processes: one, and another one for a node that may be lost."""
        is_lost = any(item.loses_node for item in self.scenario.faults)
        return [_KUBELET, lost_nodes.KUBELET] if is_lost else [_KUBELET]

    @property
    def longest_s(self) -> float:
        """The longest time that the load may take, in seconds."""
        return self.traffic.longest_s or self.scenario.timeout_s

    def processes(self, role: fault.Role) -> list[str]:
        """Return the names of the processes of a role that the run starts."""
        match role:
            case "scheduler":
                return subjects.owned_schedulers(self.subject)
            case "claim-controller":
                is_own = self.subject.claim_controller == "python"
                return [subjects.CONTROLLER] if is_own else []
            case "kubelet":
                return [_KUBELET]
            case "load":
                return [_TRAFFIC]
            case "recorder":
                return [_RECORDER]

    def ended_processes(self, role: fault.Role) -> list[str]:
        """Return the processes of a role that faults can end or pause; empty: there are none.

        The claim controller may be a process of the cluster.
        """
        own = self.processes(role)
        if role != "claim-controller" or own or not self.on.claim_controller_process:
            return own
        return [self.on.claim_controller_process]

    def foreign_schedulers(self) -> list[str]:
        """Return the kinds of the schedulers that run without the run: `cluster`, `external`."""
        return [
            item.kind for item in self.subject.schedulers if not isinstance(item, subjects.OWNED)
        ]

    def calls(self, role: fault.Role) -> fault.Calls | None:
        """Return the API calls of a role; None: unknown, as for a scheduler of another kind."""
        match role:
            case "scheduler":
                return _of_schedulers(self.subject)
            case "claim-controller":
                return _CLAIM_CONTROLLER
            case "kubelet":
                return _KUBELETS
            case "load":
                return _LOAD
            case "recorder":
                return _OBSERVER

    def name_objections(self, resource: str, pattern: str) -> Iterator[str]:
        """Yield why no object of a resource can have such a name, as far as names are known."""
        shapes = _name_shapes(resource, self.scenario)
        if shapes and not any(_can_match(pattern, shape) for shape in shapes):
            yield (
                f"expected a pattern of names that {resource} of this run can have, such as "
                f"{shapes[0]!r}, got {pattern!r}: correct it, or leave it out"
            )


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


# -------------------------------------------------------------------------- names of objects


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
            return [scenario.pools.class_of(kind) for kind in kinds]
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
    """Return whether a shell pattern can match a name of this shape."""
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
    return [f"{name}{_ANY}" for name in names]


def _literal_start(pattern: str) -> str:
    """Return the part of a shell pattern before its first special character."""
    ends = [pattern.index(mark) for mark in "*?[" if mark in pattern]
    return pattern[: min(ends, default=len(pattern))]

"""The processes that have each role in a run, and the API calls that each role makes.

By them a fault that cannot hit anything is found before the run starts.
"""

from collections.abc import Iterator, Mapping

from harness.cluster import interfaces
from harness.run import subjects
from harness.scenario import fault_specs, specs, subject_specs

Calls = Mapping[str, frozenset[str]]
"""Verbs by resource; with a subresource as `pods/binding`."""
_OWNED = (
    subject_specs.PythonScheduler,
    subject_specs.KubeScheduler,
    subject_specs.CommandScheduler,
)
"""Schedulers that the run starts."""
_RECORDER, _KUBELET, _TRAFFIC = "recorder", "kubelet", "traffic"
"""Process names, as in `run_processes`."""
LOST_KUBELET = "kubelet-2"
"""Process of the kubelet of a node that a fault may lose."""


def _calls(**verbs: str) -> Calls:
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
"""As the ClusterRole `system:kube-scheduler` allows."""
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


def processes(role: fault_specs.Role, subject: subject_specs.SubjectSpec) -> list[str]:
    """Return the names of the processes of a role that the run starts; empty: it starts none."""
    match role:
        case "scheduler":
            return owned_schedulers(subject)
        case "claim-controller":
            return [subjects.CONTROLLER] if subject.claim_controller == "python" else []
        case "kubelet":
            return [_KUBELET]
        case "load":
            return [_TRAFFIC]
        case "recorder":
            return [_RECORDER]


def ended_processes(
    role: fault_specs.Role, subject: subject_specs.SubjectSpec, on: interfaces.Capabilities
) -> list[str]:
    """Return the processes of a role that faults can end or pause; empty: there are none.

    The claim controller may be a process of the cluster.
    """
    own = processes(role, subject)
    if role != "claim-controller" or own or not on.claim_controller_process:
        return own
    return [on.claim_controller_process]


def kubelets(scenario: specs.Scenario) -> list[str]:
    """Return the kubelet processes of a run: one, or another one for a node that may be lost."""
    is_lost = any(isinstance(fault, fault_specs.LoseNode) for fault in scenario.faults)
    return [_KUBELET, LOST_KUBELET] if is_lost else [_KUBELET]


def owned_schedulers(subject: subject_specs.SubjectSpec) -> list[str]:
    """Return the names of the schedulers that the run starts."""
    named = zip(subjects.process_names(subject), subject.schedulers, strict=True)
    return [name for name, scheduler in named if isinstance(scheduler, _OWNED)]


def foreign_schedulers(subject: subject_specs.SubjectSpec) -> list[str]:
    """Return the kinds of the schedulers that run without the run: `cluster`, `external`."""
    return [item.kind for item in subject.schedulers if not isinstance(item, _OWNED)]


def made_by(role: fault_specs.Role, subject: subject_specs.SubjectSpec) -> Calls | None:
    """Return the calls of a role; None if they are unknown, as for a scheduler of another kind."""
    match role:
        case "scheduler":
            return _of_schedulers(subject)
        case "claim-controller":
            return _CLAIM_CONTROLLER
        case "kubelet":
            return _KUBELETS
        case "load":
            return _LOAD
        case "recorder":
            return _OBSERVER


def _of_schedulers(subject: subject_specs.SubjectSpec) -> Calls | None:
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


def selected(calls: Calls, on: fault_specs.TargetSpec, verbs: frozenset[str]) -> Calls:
    """Return those of the calls that a target and these verbs select."""
    return {key: hit for key, made in calls.items() if _names(on, key) and (hit := made & verbs)}


def _names(on: fault_specs.TargetSpec, key: str) -> bool:
    resource, _, subresource = key.partition("/")
    return on.resource in ("", resource) and on.subresource in (None, subresource)


def in_words(calls: Calls) -> str:
    """Return calls as `get pods, list pods, create pods/binding`."""
    return ", ".join(_each(calls))


def _each(calls: Calls) -> Iterator[str]:
    for key, verbs in calls.items():
        for verb in sorted(verbs):
            yield f"{verb} {key}"

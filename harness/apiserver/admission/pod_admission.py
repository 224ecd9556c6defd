"""The admission plugins DefaultTolerationSeconds and Priority, as functions of pods.

Both are on by default in kube-apiserver. The plugins ServiceAccount and RuntimeClass are not
implemented.
"""

from collections.abc import Callable, Iterable

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

Find = Callable[[str], Document | None]
TOLERATION_S = 300
"""Seconds that a pod stays on a node that is not ready or unreachable."""
_DEFAULT_TOLERATIONS = tuple(
    {
        "key": f"node.kubernetes.io/{condition}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": TOLERATION_S,
    }
    for condition in ("not-ready", "unreachable")
)
_DEFAULT_POLICY = "PreemptLowerPriority"
_SYSTEM_CLASSES: dict[str, Document] = {
    "system-cluster-critical": {"value": 2_000_000_000},
    "system-node-critical": {"value": 2_000_001_000},
}
"""Priority classes that every cluster has."""


def tolerate(spec: Document) -> None:
    """Add the default tolerations of nodes that are not ready or unreachable, in place."""
    own = spec.get("tolerations") or []
    missing = [
        dict(default)
        for default in _DEFAULT_TOLERATIONS
        if not any(_tolerates(item, default) for item in own)
    ]
    if missing:
        spec["tolerations"] = own + missing


def prioritise(
    pod: Document, *, find_class: Find, classes: Callable[[], Iterable[Document]]
) -> None:
    """Set priority and preemption policy from the pod's priority class, in place.

    Raises StatusError 403 if the class does not exist or the pod has another priority or policy.
    """
    spec, name = pod["spec"], pod["metadata"].get("name", "")
    priority_class = _class_of(spec, name, find_class, classes)
    value = priority_class.get("value", 0)
    policy = priority_class.get("preemptionPolicy", _DEFAULT_POLICY)
    if spec.get("priority") not in (None, value):
        raise _computed(name, f"the integer value of priority ({spec['priority']})", value)
    if spec.get("preemptionPolicy") not in (None, policy):
        own = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']})"
        raise _computed(name, own, policy)
    spec["priority"], spec["preemptionPolicy"] = value, policy


def keep_priority(spec: Document, old: Document) -> None:
    """Keep priority and preemption policy in an update that omits them, in place."""
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and key in old:
            spec[key] = old[key]


def _tolerates(toleration: Document, other: Document) -> bool:
    return toleration.get("key", "") in (other["key"], "") and toleration.get("effect", "") in (
        other["effect"],
        "",
    )


def _class_of(
    spec: Document, pod_name: str, find: Find, classes: Callable[[], Iterable[Document]]
) -> Document:
    if name := spec.get("priorityClassName"):
        named = find(name) or _SYSTEM_CLASSES.get(name)
        if named is None:
            why = f"no PriorityClass with name {name} was found"
            raise status_errors.denied(resources.PODS, pod_name, why)
        return named
    defaults = [item for item in classes() if item.get("globalDefault")]
    if not defaults:
        return {}
    default = min(defaults, key=lambda item: item.get("value", 0))
    spec["priorityClassName"] = default["metadata"]["name"]
    return default


def _computed(pod_name: str, own: str, value: object) -> status_errors.StatusError:
    why = (
        f"{own} must not be provided in pod spec; priority admission controller computed {value} "
        "from the given PriorityClass name"
    )
    return status_errors.denied(resources.PODS, pod_name, why)

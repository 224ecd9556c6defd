"""What admission does to pods before they are validated: tolerations of nodes that went away, priority, and the run-time class.

The plugins are DefaultTolerationSeconds, Priority and RuntimeClass, which are on by default; the ServiceAccount plugin is not here.
"""

from collections.abc import Callable, Iterable

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document

Find = Callable[[str], Document | None]
TOLERATION_S = 300
_NODE_IS_GONE = tuple(
    {
        "key": f"node.kubernetes.io/{condition}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": TOLERATION_S,
    }
    for condition in ("not-ready", "unreachable")
)
_NEVER_LOWER = "PreemptLowerPriority"
_SYSTEM_CLASSES: dict[str, Document] = {
    "system-cluster-critical": {"value": 2_000_000_000},
    "system-node-critical": {"value": 2_000_001_000},
}
"""Priority classes that every cluster has."""


def tolerate(spec: Document) -> None:
    """Let a pod stay for five minutes on a node that is not ready or not reachable, in place."""
    own = spec.get("tolerations") or []
    missing = [
        dict(gone) for gone in _NODE_IS_GONE if not any(_tolerates(item, gone) for item in own)
    ]
    if missing:
        spec["tolerations"] = own + missing


def prioritise(
    pod: Document, *, find_class: Find, classes: Callable[[], Iterable[Document]]
) -> None:
    """Set the priority that the pod's class gives it, in place; 403 for an unknown class and for a priority of the pod's own."""
    spec, name = pod["spec"], pod["metadata"].get("name", "")
    found = _class_of(spec, name, find_class, classes)
    value = found.get("value", 0)
    policy = found.get("preemptionPolicy", _NEVER_LOWER)
    if spec.get("priority") not in (None, value):
        raise _computed(name, f"the integer value of priority ({spec['priority']})", value)
    if spec.get("preemptionPolicy") not in (None, policy):
        own = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']})"
        raise _computed(name, own, policy)
    spec["priority"], spec["preemptionPolicy"] = value, policy


def keep_priority(spec: Document, old: Document) -> None:
    """An update that does not mention the priority keeps it, in place."""
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and key in old:
            spec[key] = old[key]


def require_runtime_class(pod: Document, *, find_class: Find) -> None:
    """403 when the pod wants a run-time class that does not exist; its overhead and its nodes become the pod's, in place."""
    spec = pod["spec"]
    if not (wanted := spec.get("runtimeClassName")):
        return
    found = find_class(wanted)
    if found is None:
        why = f'pod rejected: RuntimeClass "{wanted}" not found'
        raise status_errors.denied(resources.PODS, pod["metadata"]["name"], why)
    if overhead := (found.get("overhead") or {}).get("podFixed"):
        spec["overhead"] = overhead
    if selector := (found.get("scheduling") or {}).get("nodeSelector"):
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}


def _tolerates(toleration: Document, other: Document) -> bool:
    return toleration.get("key", "") in (other["key"], "") and toleration.get("effect", "") in (
        other["effect"],
        "",
    )


def _class_of(
    spec: Document, pod_name: str, find: Find, classes: Callable[[], Iterable[Document]]
) -> Document:
    if wanted := spec.get("priorityClassName"):
        found = find(wanted) or _SYSTEM_CLASSES.get(wanted)
        if found is None:
            why = f"no PriorityClass with name {wanted} was found"
            raise status_errors.denied(resources.PODS, pod_name, why)
        return found
    general = [item for item in classes() if item.get("globalDefault")]
    if not general:
        return {}
    found = min(general, key=lambda item: item.get("value", 0))
    spec["priorityClassName"] = found["metadata"]["name"]
    return found


def _computed(pod_name: str, own: str, value: object) -> status_errors.StatusError:
    why = (
        f"{own} must not be provided in pod spec; priority admission controller computed {value} "
        "from the given PriorityClass name"
    )
    return status_errors.denied(resources.PODS, pod_name, why)

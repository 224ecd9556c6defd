"""The built-in admission plugins NamespaceLifecycle, Priority and DefaultTolerationSeconds.

They change or reject objects before validation. ServiceAccount and RuntimeClass are not
implemented. After k8s.io/kubernetes/plugin/pkg/admission.
"""

from collections.abc import Mapping

from harness.apiserver.errors import status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources
from harness.apiserver.storage import object_tables, stored_objects

_IMMORTAL = ("default", "kube-public", "kube-system")


def namespace_of(objects: object_tables.Objects, name: str) -> stored_objects.Stored:
    """Return a namespace; raises StatusError 404 if it does not exist."""
    namespace = objects.find(resources.NAMESPACES, "", name)
    if namespace is None:
        raise status_errors.not_found(resources.NAMESPACES, name)
    return namespace


def require_namespace(
    objects: object_tables.Objects, resource: resources.ResourceType, namespace: str, name: str
) -> None:
    """Check that a new object may be created in its namespace.

    Raises StatusError 404 if the namespace does not exist. If it is terminating, raises 403 with
    the cause on which controllers do not retry.
    """
    if resource.namespaced and namespace_of(objects, namespace).deleting:
        why = f"nothing can be created in namespace {namespace} because it is being terminated"
        cause = Cause("NamespaceTerminating", why, "metadata.namespace")
        raise status_errors.denied(resource, name, why, causes=[cause])


def require_mortal(resource: resources.ResourceType, name: str) -> None:
    """Raise StatusError 403 for the deletion of a system namespace."""
    if resource is resources.NAMESPACES and name in _IMMORTAL:
        raise status_errors.denied(resource, name, "this namespace may not be deleted")


def admit(
    objects: object_tables.Objects,
    resource: resources.ResourceType,
    document: Document,
    old: Document | None,
) -> None:
    """Change a new or changed pod, in place; raises StatusError 403 to reject an object."""
    if resource is not resources.PODS:
        return
    tolerate(document["spec"])
    if old is not None:
        for key in ("priority", "preemptionPolicy"):  # an update may omit them
            if document["spec"].get(key) is None and key in old["spec"]:
                document["spec"][key] = old["spec"][key]
        return
    classes = map(stored_objects.Stored.document, objects.all_of(resources.PRIORITY_CLASSES))
    prioritise(document, {found["metadata"]["name"]: found for found in classes})


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
_SYSTEM_CLASSES: dict[str, Document] = {
    "system-cluster-critical": {"value": 2_000_000_000},
    "system-node-critical": {"value": 2_000_001_000},
}
"""Priority classes that every cluster has."""


def tolerate(spec: Document) -> None:
    """Add the default tolerations of nodes that are not ready or unreachable, in place."""
    own = spec.get("tolerations") or []
    for default in _DEFAULT_TOLERATIONS:
        if not any(_tolerates(item, default) for item in own):
            spec["tolerations"] = [*(spec.get("tolerations") or ()), dict(default)]


def prioritise(pod: Document, classes: Mapping[str, Document]) -> None:
    """Set priority and preemption policy from the pod's priority class, in place.

    Raises StatusError 403 if the class does not exist or the pod has another priority or policy.
    """
    spec, name = pod["spec"], pod["metadata"].get("name", "")
    priority_class = _class_of(spec, name, classes)
    computed = {
        "priority": priority_class.get("value", 0),
        "preemptionPolicy": priority_class.get("preemptionPolicy", "PreemptLowerPriority"),
    }
    for key, value in computed.items():
        if spec.get(key) not in (None, value):
            why = f"a {key} other than {value} of its PriorityClass must not be given"
            raise status_errors.denied(resources.PODS, name, why)
    spec.update(computed)


def _tolerates(toleration: Document, other: Document) -> bool:
    return all(toleration.get(key, "") in (other[key], "") for key in ("key", "effect"))


def _class_of(spec: Document, pod_name: str, classes: Mapping[str, Document]) -> Document:
    if name := spec.get("priorityClassName"):
        named = classes.get(name) or _SYSTEM_CLASSES.get(name)
        if named is None:
            why = f"no PriorityClass with name {name} was found"
            raise status_errors.denied(resources.PODS, pod_name, why)
        return named
    defaults = [item for item in classes.values() if item.get("globalDefault")]
    if not defaults:
        return {}
    default = min(defaults, key=lambda item: item.get("value", 0))
    spec["priorityClassName"] = default["metadata"]["name"]
    return default

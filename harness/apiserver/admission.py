"""The built-in admission plugins: NamespaceLifecycle, Priority, DefaultTolerationSeconds, and
PodGroupWorkloadExists.

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
    if resource is resources.POD_GROUPS and old is None:
        _require_no_workload(document)
    if resource is not resources.PODS:
        return
    tolerate(document["spec"])
    if old is not None:
        keep_priority(document["spec"], old["spec"])
        return
    classes = map(stored_objects.Stored.document, objects.all_of(resources.PRIORITY_CLASSES))
    prioritise(document, {found["metadata"]["name"]: found for found in classes})


def _require_no_workload(group: Document) -> None:
    """Raise StatusError 403 if a PodGroup is of a Workload: there are none here."""
    reference = (group["spec"].get("podGroupTemplateRef") or {}).get("workload")
    if reference:
        name = group["metadata"].get("name", "")
        why = f'PodGroup rejected: Workload "{reference.get("workloadName")}" not found'
        raise status_errors.denied(resources.POD_GROUPS, name, why)


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


def prioritise(pod: Document, classes: Mapping[str, Document]) -> None:
    """Set priority and preemption policy from the pod's priority class, in place.

    Raises StatusError 403 if the class does not exist or the pod has another priority or policy.
    """
    spec, name = pod["spec"], pod["metadata"].get("name", "")
    priority_class = _class_of(spec, name, classes)
    computed = {
        "priority": priority_class.get("value", 0),
        "preemptionPolicy": priority_class.get("preemptionPolicy", _DEFAULT_POLICY),
    }
    for key, value in computed.items():
        if spec.get(key) not in (None, value):
            why = f"a {key} other than {value} of its PriorityClass must not be given"
            raise status_errors.denied(resources.PODS, name, why)
    spec.update(computed)


def keep_priority(spec: Document, old: Document) -> None:
    """Keep priority and preemption policy in an update that omits them, in place."""
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and key in old:
            spec[key] = old[key]


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

"""Pure functions that decide which nodes can run a pod or use a device."""

from collections.abc import Callable, Sequence
from typing import Any

Object = dict[str, Any]
_OPERATORS: dict[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: value is not None and int(value) > int(values[0]),
    "Lt": lambda value, values: value is not None and int(value) < int(values[0]),
}


def admits(node: Object, pod: Object) -> bool:
    """Return whether the node accepts the pod, apart from devices.

    It must be schedulable, match the pod's `nodeSelector`, and have no taint the pod does not
    tolerate.
    """
    spec, labels = node.get("spec", {}), node["metadata"].get("labels", {})
    if spec.get("unschedulable") or any(_blocks(taint, pod) for taint in spec.get("taints") or ()):
        return False
    selector = pod["spec"].get("nodeSelector") or {}
    return all(labels.get(key) == value for key, value in selector.items())


def is_placed_on(place: Object, node: Object) -> bool:
    """Return whether a slice or device is available on the node.

    `place` is the slice's spec or the device, with `nodeName`, `nodeSelector` or `allNodes`.
    """
    if place.get("nodeName"):
        return bool(place["nodeName"] == node["metadata"]["name"])
    if place.get("nodeSelector"):
        return selects(place["nodeSelector"], node)
    return bool(place.get("allNodes"))


def selects(selector: Object | None, node: Object) -> bool:
    """Return whether a NodeSelector matches the node; None matches every node.

    Terms are ORed, the expressions of a term are ANDed. After
    k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
    """
    if selector is None:
        return True
    return any(_term_selects(term, node) for term in selector.get("nodeSelectorTerms") or ())


def only(node_name: str) -> Object:
    """Return the NodeSelector for one node, as in allocations of node-local devices."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def natural_order(name: str) -> tuple[int, str]:
    """Return a sort key that puts worker-9 before worker-10."""
    return len(name), name


def _term_selects(term: Object, node: Object) -> bool:
    labels = node["metadata"].get("labels", {})
    fields = {"metadata.name": node["metadata"]["name"]}
    checks = [(labels, item) for item in term.get("matchExpressions") or ()]
    checks += [(fields, item) for item in term.get("matchFields") or ()]
    return bool(checks) and all(
        _OPERATORS[item["operator"]](known.get(item["key"]), item.get("values") or ())
        for known, item in checks
    )


def _blocks(taint: Object, pod: Object) -> bool:
    if taint["effect"] == "PreferNoSchedule":
        return False
    return not any(_tolerates(item, taint) for item in pod["spec"].get("tolerations") or ())


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return bool(
        toleration.get("key") == taint["key"]
        and toleration.get("value", "") == taint.get("value", "")
    )

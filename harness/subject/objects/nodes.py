"""Pure functions that decide which nodes can run a pod or use a device."""

import re
from collections.abc import Callable, Mapping, Sequence

from harness import errors
from harness.model.objects import Object

_OPERATORS: dict[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _is_ordered(values[0], value),
    "Lt": lambda value, values: _is_ordered(value, values[0]),
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
"""The integers that upstream accepts."""
UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
"""Reasons for which a node does not accept a pod; kube-scheduler's words."""
NODE_UNSCHEDULABLE, TAINT_TOLERATION = "NodeUnschedulable", "TaintToleration"
NODE_AFFINITY = "NodeAffinity"
PLUGINS = {
    UNSCHEDULABLE: NODE_UNSCHEDULABLE,
    TAINTED: TAINT_TOLERATION,
    NOT_SELECTED: NODE_AFFINITY,
}
"""kube-scheduler's plugin that gives each reason."""


class SelectorError(errors.HarnessError):
    """A NodeSelector that this scheduler does not understand."""


def refusal(node: Object, pod: Object) -> str | None:
    """Return why the node does not accept the pod, apart from devices; None if it does."""
    if is_unschedulable(node):
        return UNSCHEDULABLE
    if not tolerates_taints(node, pod):
        return TAINTED
    return None if is_selected(node, pod) else NOT_SELECTED


def is_unschedulable(node: Object) -> bool:
    """Return whether the node takes no new pods (`kubectl cordon`)."""
    return bool(node.get("spec", {}).get("unschedulable"))


def tolerates_taints(node: Object, pod: Object) -> bool:
    taints = node.get("spec", {}).get("taints")
    return not taints or not any(_blocks(taint, pod) for taint in taints)


def is_selected(node: Object, pod: Object) -> bool:
    """Return whether the node matches the pod's `nodeSelector` and required node affinity."""
    spec, labels = pod["spec"], node["metadata"].get("labels") or {}
    selector = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return selects(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"), node)


def is_placed_on(place: Object, node: Object) -> bool:
    """Return whether `place`, a slice's spec or a device, is available on the node."""
    if place.get("nodeName"):
        return bool(place["nodeName"] == node["metadata"]["name"])
    if place.get("nodeSelector"):
        return selects(place["nodeSelector"], node)
    return bool(place.get("allNodes"))


def selects(selector: Object | None, node: Object) -> bool:
    """Return whether a NodeSelector matches the node; None matches every node.

    Terms are ORed, the expressions of a term are ANDed. After
    k8s.io/component-helpers/scheduling/corev1/nodeaffinity. Raises SelectorError for an operator
    that is not known.
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
    return bool(checks) and all(_meets(item, known) for known, item in checks)


def _meets(requirement: Object, known: Mapping[str, str]) -> bool:
    operator = requirement["operator"]
    if operator not in _OPERATORS:
        raise SelectorError(
            f"expected a NodeSelector operator of {', '.join(_OPERATORS)}, got {operator!r}"
        )
    return _OPERATORS[operator](known.get(requirement["key"]), requirement.get("values") or ())


def _is_ordered(less: str | None, more: str | None) -> bool:
    """Return whether both are integers and `less` is less; as upstream, other text never is."""
    if less is None or more is None:
        return False
    are_numbers = _INTEGER.fullmatch(less) and _INTEGER.fullmatch(more)
    return bool(are_numbers) and int(less) < int(more)


def _blocks(taint: Object, pod: Object) -> bool:
    if taint["effect"] == "PreferNoSchedule":
        return False
    return not any(tolerates(item, taint) for item in pod["spec"].get("tolerations") or ())


def tolerates(toleration: Object, taint: Object) -> bool:
    """Return whether a toleration of a pod or request tolerates a taint of a node or device.

    An empty key or effect stands for all. An unknown operator tolerates nothing.
    """
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return bool((toleration.get("value") or "") == (taint.get("value") or ""))
    return bool(operator == "Exists")

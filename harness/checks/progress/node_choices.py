"""The nodes on which a pod may run, by its node selector and its node affinity.

Other things by which a scheduler chooses nodes are not read: an observer cannot tell about them.
"""

from collections.abc import Mapping

from harness.checks.devices import node_selectors
from harness.checks.observed import observed_pods


class UnclearError(ValueError):
    """An observer cannot tell where the pod may run."""


def allowed(
    spec: observed_pods.PodSpec, nodes: Mapping[str, node_selectors.Labels] | None
) -> set[str] | None:
    """Return the names of the nodes on which a pod may run; None: any.

    `nodes` are all nodes with their labels, None if they are not known. Raises UnclearError.
    """
    affinity = spec.affinity or observed_pods.Affinity()
    if affinity.pod_affinity or affinity.pod_anti_affinity:
        raise UnclearError("expected no affinity to other pods")
    if spec.topology_spread_constraints:
        raise UnclearError("expected no constraints of topology")
    required = affinity.node_affinity.required if affinity.node_affinity else None
    if not spec.node_selector and required is None:
        return None
    if nodes is None:
        raise UnclearError("expected nodes with labels")
    wanted = (spec.node_selector or {}).items()
    return {
        name
        for name, labels in nodes.items()
        if wanted <= labels.items() and _admits(required, name, labels)
    }


def _admits(selector: object, name: str, labels: node_selectors.Labels) -> bool:
    try:
        return node_selectors.admits(selector, name, labels)
    except node_selectors.UnknownSelectorError as error:
        raise UnclearError(str(error)) from error

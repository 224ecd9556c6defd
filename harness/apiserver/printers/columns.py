"""The columns of `kubectl get`, of each kind in the order of the cells of a row.

Kinds that no scheduler reads have the columns Name and Age.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from harness.apiserver.printers import cells, pod_cells
from harness.apiserver.scheme.json_document import Document


class Column(NamedTuple):
    """One column of a table."""

    name: str
    cell: Callable[[Document, str], Any]
    """Computes the cell from the object and the current time."""
    described: str = ""
    """The description: a field of an OpenAPI type, such as `core.v1.Event reason`, or a text."""
    priority: int = 0
    """1 for columns that only `-o wide` shows."""


def at(path: str, default: Any = "") -> Callable[[Document, str], Any]:
    """Return a cell with the value at a path, or the default if that is missing or empty."""

    def cell(document: Document, _: str) -> Any:
        value = cells.value(document, path)
        return default if value is None or value == "" else value

    return cell


def field(name: str, path: str, type_name: str, default: Any = "") -> Column:
    """Return a column that shows one field, with the description of that field."""
    return Column(name, at(path, default), f"{type_name} {path.rpartition('.')[2]}")


def wide(name: str, path: str, type_name: str, default: Any = cells.NONE) -> Column:
    """Return a column like `field`, which only `-o wide` shows."""
    return field(name, path, type_name, default)._replace(priority=1)


def flag(path: str) -> Callable[[Document, str], bool]:
    """Return a cell that is true if the value at a path is."""
    return lambda document, _: bool(cells.value(document, path))


def age(path: str) -> Callable[[Document, str], Any]:
    """Return a cell with the time that has passed since the time at a path."""
    return lambda document, now: cells.between(cells.value(document, path) or "", now)


def text(name: str, cell: Callable[[Document], Any], described: str, priority: int = 0) -> Column:
    """Return a column whose cell does not depend on the current time."""
    return Column(name, lambda document, _: cell(document), described, priority)


NAME = Column("Name", at("metadata.name"), "meta.v1.ObjectMeta name")
AGE = Column("Age", age("metadata.creationTimestamp"), "meta.v1.ObjectMeta creationTimestamp")
PLAIN = (NAME, AGE)
"""The columns of kinds without columns of their own."""
_UNKNOWN = "<unknown>"
_READY = "The aggregate readiness state of this pod for accepting traffic."
_STATE = "A summary of the current state (allocated, pending, reserved, etc.)."
_LAST_SEEN = "The time at which the most recent occurrence of this event was recorded."
_RESTARTS = (
    "The number of times the containers in this pod have been restarted and when the last "
    "container in this pod has restarted."
)
COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "Pod"): (
        NAME,
        text("Ready", pod_cells.ready, _READY),
        text("Status", pod_cells.status, "The aggregate status of the containers in this pod."),
        Column("Restarts", pod_cells.restarts, _RESTARTS),
        AGE,
        wide("IP", "status.podIP", "core.v1.PodStatus"),
        wide("Node", "spec.nodeName", "core.v1.PodSpec"),
        wide("Nominated Node", "status.nominatedNodeName", "core.v1.PodStatus"),
        text("Readiness Gates", pod_cells.readiness_gates, "core.v1.PodSpec readinessGates", 1),
    ),
    ("", "Node"): (
        NAME,
        text("Status", cells.node_status, "The status of the node"),
        text("Roles", cells.node_roles, "The roles of the node"),
        AGE,
        field("Version", "status.nodeInfo.kubeletVersion", "core.v1.NodeSystemInfo"),
        text("Internal-IP", cells.node_address("InternalIP"), "core.v1.NodeStatus addresses", 1),
        text("External-IP", cells.node_address("ExternalIP"), "core.v1.NodeStatus addresses", 1),
        *(
            wide(name, f"status.nodeInfo.{key}", "core.v1.NodeSystemInfo", _UNKNOWN)
            for name, key in {
                "OS-Image": "osImage",
                "Kernel-Version": "kernelVersion",
                "Container-Runtime": "containerRuntimeVersion",
            }.items()
        ),
    ),
    ("", "Namespace"): (
        NAME,
        Column("Status", at("status.phase"), "The status of the namespace"),
        AGE,
    ),
    ("", "Event"): (
        Column("Last Seen", cells.event_last_seen, _LAST_SEEN),
        field("Type", "type", "core.v1.Event"),
        field("Reason", "reason", "core.v1.Event"),
        text("Object", cells.event_object, "core.v1.Event involvedObject"),
        wide("Subobject", "involvedObject.fieldPath", "core.v1.ObjectReference", ""),
        text("Source", cells.event_source, "core.v1.Event source", 1),
        field("Message", "message", "core.v1.Event"),
        Column("First Seen", cells.event_first_seen, "core.v1.Event firstTimestamp", 1),
        text("Count", cells.event_count, "core.v1.Event count", 1),
        NAME._replace(priority=1),
    ),
    ("", "ConfigMap"): (NAME, text("Data", cells.data_count, "core.v1.ConfigMap data"), AGE),
    ("coordination.k8s.io", "Lease"): (
        NAME,
        field("Holder", "spec.holderIdentity", "coordination.v1.LeaseSpec"),
        AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        field("Value", "value", "scheduling.v1.PriorityClass", 0),
        Column(
            "Global-Default", flag("globalDefault"), "scheduling.v1.PriorityClass globalDefault"
        ),
        AGE,
        field("PreemptionPolicy", "preemptionPolicy", "scheduling.v1.PriorityClass"),
    ),
    ("resource.k8s.io", "ResourceClaim"): (
        NAME,
        text("State", cells.claim_state, _STATE),
        AGE,
    ),
    ("resource.k8s.io", "ResourceSlice"): (
        NAME,
        field("Node", "spec.nodeName", "resource.v1.ResourceSliceSpec"),
        field("Driver", "spec.driver", "resource.v1.ResourceSliceSpec"),
        field("Pool", "spec.pool.name", "resource.v1.ResourcePool"),
        AGE,
    ),
}
"""The columns of each kind, by (group, kind)."""

"""The columns that `kubectl get` shows of each kind; the cells of a row are computed in the same order.

A column is its name, its priority (1 is shown by `-o wide` only), what describes it (a field of a type in Kubernetes' OpenAPI, or the
text itself), and a function from the object to the cell.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from harness.apiserver import durations, printing

Document = dict[str, Any]


class Column(NamedTuple):
    """One column of a table."""

    name: str
    cell: Callable[[Document, str], Any]
    """From the object and the time that it is now."""
    described: str = ""
    """`core.v1.Event reason`: a field of a type; or a text."""
    priority: int = 0


def _at(path: str, default: Any = "") -> Callable[[Document, str], Any]:
    def cell(document: Document, _: str) -> Any:
        found = printing.value(document, path)
        return default if found is None or found == "" else found

    return cell


def _flag(path: str) -> Callable[[Document, str], bool]:
    return lambda document, _: bool(printing.value(document, path))


def _age(path: str) -> Callable[[Document, str], Any]:
    return lambda document, now: durations.between(printing.value(document, path) or "", now)


def _by(function: Callable[[Document], Any]) -> Callable[[Document, str], Any]:
    return lambda document, _: function(document)


_NONE = "<none>"
NAME = Column("Name", _at("metadata.name"), "meta.v1.ObjectMeta name")
AGE = Column("Age", _age("metadata.creationTimestamp"), "meta.v1.ObjectMeta creationTimestamp")
_WIDE_CONTAINERS = (
    Column(
        "Containers", _by(printing.container_names), "Names of each container in the template.", 1
    ),
    Column(
        "Images",
        _by(printing.container_images),
        "Images referenced by each container in the template.",
        1,
    ),
)
_SELECTOR = Column("Selector", _by(printing.selector), "The label selector of the object.", 1)
PLAIN = (NAME, AGE)

COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "Pod"): (
        NAME,
        Column(
            "Ready",
            _by(printing.pod_ready),
            "The aggregate readiness state of this pod for accepting traffic.",
        ),
        Column(
            "Status",
            _by(printing.pod_status),
            "The aggregate status of the containers in this pod.",
        ),
        Column(
            "Restarts",
            printing.pod_restarts,
            "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
        ),
        AGE,
        Column("IP", _at("status.podIP", _NONE), "core.v1.PodStatus podIP", 1),
        Column("Node", _at("spec.nodeName", _NONE), "core.v1.PodSpec nodeName", 1),
        Column(
            "Nominated Node",
            _at("status.nominatedNodeName", _NONE),
            "core.v1.PodStatus nominatedNodeName",
            1,
        ),
        Column(
            "Readiness Gates", _by(printing.readiness_gates), "core.v1.PodSpec readinessGates", 1
        ),
    ),
    ("", "Node"): (
        NAME,
        Column("Status", _by(printing.node_status), "The status of the node"),
        Column("Roles", _by(printing.node_roles), "The roles of the node"),
        AGE,
        Column(
            "Version",
            _at("status.nodeInfo.kubeletVersion"),
            "core.v1.NodeSystemInfo kubeletVersion",
        ),
        Column(
            "Internal-IP",
            _by(printing.node_address("InternalIP")),
            "core.v1.NodeStatus addresses",
            1,
        ),
        Column(
            "External-IP",
            _by(printing.node_address("ExternalIP")),
            "core.v1.NodeStatus addresses",
            1,
        ),
        Column(
            "OS-Image",
            _at("status.nodeInfo.osImage", "<unknown>"),
            "core.v1.NodeSystemInfo osImage",
            1,
        ),
        Column(
            "Kernel-Version",
            _at("status.nodeInfo.kernelVersion", "<unknown>"),
            "core.v1.NodeSystemInfo kernelVersion",
            1,
        ),
        Column(
            "Container-Runtime",
            _at("status.nodeInfo.containerRuntimeVersion", "<unknown>"),
            "core.v1.NodeSystemInfo containerRuntimeVersion",
            1,
        ),
    ),
    ("", "Namespace"): (
        NAME,
        Column("Status", _at("status.phase"), "The status of the namespace"),
        AGE,
    ),
    ("", "Event"): (
        Column(
            "Last Seen",
            printing.event_last_seen,
            "The time at which the most recent occurrence of this event was recorded.",
        ),
        Column("Type", _at("type"), "core.v1.Event type"),
        Column("Reason", _at("reason"), "core.v1.Event reason"),
        Column("Object", _by(printing.event_object), "core.v1.Event involvedObject"),
        Column(
            "Subobject", _at("involvedObject.fieldPath"), "core.v1.ObjectReference fieldPath", 1
        ),
        Column("Source", _by(printing.event_source), "core.v1.Event source", 1),
        Column("Message", _at("message"), "core.v1.Event message"),
        Column("First Seen", printing.event_first_seen, "core.v1.Event firstTimestamp", 1),
        Column("Count", _by(printing.event_count), "core.v1.Event count", 1),
        NAME._replace(priority=1),
    ),
    ("", "ConfigMap"): (
        NAME,
        Column("Data", _by(printing.data_count), "core.v1.ConfigMap data"),
        AGE,
    ),
    ("", "Secret"): (
        NAME,
        Column("Type", _at("type"), "core.v1.Secret type"),
        Column("Data", _by(printing.data_count), "core.v1.Secret data"),
        AGE,
    ),
    ("", "ServiceAccount"): (
        NAME,
        Column("Secrets", _by(printing.count("secrets")), "core.v1.ServiceAccount secrets"),
        AGE,
    ),
    ("", "Service"): (
        NAME,
        Column("Type", _at("spec.type", "ClusterIP"), "core.v1.ServiceSpec type"),
        Column("Cluster-IP", _at("spec.clusterIP", _NONE), "core.v1.ServiceSpec clusterIP"),
        Column("External-IP", _by(printing.external_ips), "core.v1.ServiceSpec externalIPs"),
        Column("Port(s)", _by(printing.service_ports), "core.v1.ServiceSpec ports"),
        AGE,
        _SELECTOR,
    ),
    ("", "PersistentVolume"): (
        NAME,
        Column("Capacity", _at("spec.capacity.storage"), "core.v1.PersistentVolumeSpec capacity"),
        Column(
            "Access Modes",
            _by(printing.access_modes("spec.accessModes")),
            "core.v1.PersistentVolumeSpec accessModes",
        ),
        Column(
            "Reclaim Policy",
            _at("spec.persistentVolumeReclaimPolicy"),
            "core.v1.PersistentVolumeSpec persistentVolumeReclaimPolicy",
        ),
        Column("Status", _by(printing.phase), "core.v1.PersistentVolumeStatus phase"),
        Column("Claim", _by(printing.volume_claim), "core.v1.PersistentVolumeSpec claimRef"),
        Column("StorageClass", _at("spec.storageClassName"), "StorageClass of the pv"),
        Column("Reason", _at("status.reason"), "core.v1.PersistentVolumeStatus reason"),
        AGE,
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        Column("Status", _by(printing.phase), "core.v1.PersistentVolumeClaimStatus phase"),
        Column("Volume", _at("spec.volumeName"), "core.v1.PersistentVolumeClaimSpec volumeName"),
        Column(
            "Capacity",
            _at("status.capacity.storage"),
            "core.v1.PersistentVolumeClaimStatus capacity",
        ),
        Column(
            "Access Modes",
            _by(printing.access_modes("status.accessModes")),
            "core.v1.PersistentVolumeClaimStatus accessModes",
        ),
        Column("StorageClass", _at("spec.storageClassName"), "StorageClass of the pvc"),
        AGE,
    ),
    ("", "ReplicationController"): (
        NAME,
        Column("Desired", _at("spec.replicas", 0), "core.v1.ReplicationControllerSpec replicas"),
        Column(
            "Current", _at("status.replicas", 0), "core.v1.ReplicationControllerStatus replicas"
        ),
        Column(
            "Ready",
            _at("status.readyReplicas", 0),
            "core.v1.ReplicationControllerStatus readyReplicas",
        ),
        AGE,
        *_WIDE_CONTAINERS,
        _SELECTOR,
    ),
    ("apps", "ReplicaSet"): (
        NAME,
        Column("Desired", _at("spec.replicas", 0), "apps.v1.ReplicaSetSpec replicas"),
        Column("Current", _at("status.replicas", 0), "apps.v1.ReplicaSetStatus replicas"),
        Column("Ready", _at("status.readyReplicas", 0), "apps.v1.ReplicaSetStatus readyReplicas"),
        AGE,
        *_WIDE_CONTAINERS,
        _SELECTOR,
    ),
    ("apps", "Deployment"): (
        NAME,
        Column("Ready", _by(printing.ready_of_desired), "Number of the pod with ready state"),
        Column(
            "Up-to-date",
            _at("status.updatedReplicas", 0),
            "apps.v1.DeploymentStatus updatedReplicas",
        ),
        Column(
            "Available",
            _at("status.availableReplicas", 0),
            "apps.v1.DeploymentStatus availableReplicas",
        ),
        AGE,
        *_WIDE_CONTAINERS,
        _SELECTOR,
    ),
    ("apps", "StatefulSet"): (
        NAME,
        Column("Ready", _by(printing.ready_of_desired), "Number of the pod with ready state"),
        AGE,
        *_WIDE_CONTAINERS,
    ),
    ("apps", "DaemonSet"): (
        NAME,
        Column(
            "Desired",
            _at("status.desiredNumberScheduled", 0),
            "apps.v1.DaemonSetStatus desiredNumberScheduled",
        ),
        Column(
            "Current",
            _at("status.currentNumberScheduled", 0),
            "apps.v1.DaemonSetStatus currentNumberScheduled",
        ),
        Column("Ready", _at("status.numberReady", 0), "apps.v1.DaemonSetStatus numberReady"),
        Column(
            "Up-to-date",
            _at("status.updatedNumberScheduled", 0),
            "apps.v1.DaemonSetStatus updatedNumberScheduled",
        ),
        Column(
            "Available", _at("status.numberAvailable", 0), "apps.v1.DaemonSetStatus numberAvailable"
        ),
        Column("Node Selector", _by(printing.node_selector), "core.v1.PodSpec nodeSelector"),
        AGE,
        *_WIDE_CONTAINERS,
        _SELECTOR,
    ),
    ("batch", "Job"): (
        NAME,
        Column("Status", _by(printing.job_status), "Status of the job."),
        Column("Completions", _by(printing.job_completions), "batch.v1.JobStatus succeeded"),
        Column("Duration", printing.job_duration, "Time required to complete the job."),
        AGE,
        *_WIDE_CONTAINERS,
        _SELECTOR,
    ),
    ("batch", "CronJob"): (
        NAME,
        Column("Schedule", _at("spec.schedule"), "batch.v1.CronJobSpec schedule"),
        Column("Timezone", _at("spec.timeZone", _NONE), "batch.v1.CronJobSpec timeZone"),
        Column("Suspend", _by(printing.suspended), "batch.v1.CronJobSpec suspend"),
        Column("Active", _by(printing.count("status.active")), "batch.v1.CronJobStatus active"),
        Column("Last Schedule", printing.last_schedule, "batch.v1.CronJobStatus lastScheduleTime"),
        AGE,
    ),
    ("coordination.k8s.io", "Lease"): (
        NAME,
        Column("Holder", _at("spec.holderIdentity"), "coordination.v1.LeaseSpec holderIdentity"),
        AGE,
    ),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        Column(
            "Min Available",
            _at("spec.minAvailable", "N/A"),
            "The minimum number of pods that must be available.",
        ),
        Column(
            "Max Unavailable",
            _at("spec.maxUnavailable", "N/A"),
            "The maximum number of pods that may be unavailable.",
        ),
        Column(
            "Allowed Disruptions",
            _at("status.disruptionsAllowed", 0),
            "Calculated number of pods that may be disrupted at this time.",
        ),
        AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        Column("Value", _at("value", 0), "scheduling.v1.PriorityClass value"),
        Column(
            "Global-Default",
            _flag("globalDefault"),
            "scheduling.v1.PriorityClass globalDefault",
        ),
        AGE,
        Column(
            "PreemptionPolicy",
            _at("preemptionPolicy"),
            "scheduling.v1.PriorityClass preemptionPolicy",
        ),
    ),
    ("storage.k8s.io", "StorageClass"): (
        NAME,
        Column("Provisioner", _at("provisioner"), "storage.v1.StorageClass provisioner"),
        Column(
            "ReclaimPolicy", _at("reclaimPolicy", "Delete"), "storage.v1.StorageClass reclaimPolicy"
        ),
        Column(
            "VolumeBindingMode",
            _at("volumeBindingMode", "Immediate"),
            "storage.v1.StorageClass volumeBindingMode",
        ),
        Column(
            "AllowVolumeExpansion",
            _flag("allowVolumeExpansion"),
            "storage.v1.StorageClass allowVolumeExpansion",
        ),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "Role"): (
        NAME,
        Column("Created At", _at("metadata.creationTimestamp"), AGE.described),
    ),
    ("rbac.authorization.k8s.io", "ClusterRole"): (
        NAME,
        Column("Created At", _at("metadata.creationTimestamp"), AGE.described),
    ),
    ("rbac.authorization.k8s.io", "RoleBinding"): (
        NAME,
        Column("Role", _by(printing.role), "rbac.v1.RoleBinding roleRef"),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (
        NAME,
        Column("Role", _by(printing.role), "rbac.v1.ClusterRoleBinding roleRef"),
        AGE,
    ),
    ("resource.k8s.io", "ResourceClaim"): (
        NAME,
        Column(
            "State",
            _by(printing.claim_state),
            "A summary of the current state (allocated, pending, reserved, etc.).",
        ),
        AGE,
    ),
    ("resource.k8s.io", "ResourceSlice"): (
        NAME,
        Column("Node", _at("spec.nodeName"), "resource.v1.ResourceSliceSpec nodeName"),
        Column("Driver", _at("spec.driver"), "resource.v1.ResourceSliceSpec driver"),
        Column("Pool", _at("spec.pool.name"), "resource.v1.ResourcePool name"),
        AGE,
    ),
}

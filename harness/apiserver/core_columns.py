"""The columns of the kinds of the core group that are no workloads."""

from harness.apiserver import columns, printing

COLUMNS: dict[tuple[str, str], tuple[columns.Column, ...]] = {
    ("", "Node"): (
        columns.NAME,
        columns.Column("Status", columns.by(printing.node_status), "The status of the node"),
        columns.Column("Roles", columns.by(printing.node_roles), "The roles of the node"),
        columns.AGE,
        columns.Column(
            "Version",
            columns.at("status.nodeInfo.kubeletVersion"),
            "core.v1.NodeSystemInfo kubeletVersion",
        ),
        columns.Column(
            "Internal-IP",
            columns.by(printing.node_address("InternalIP")),
            "core.v1.NodeStatus addresses",
            1,
        ),
        columns.Column(
            "External-IP",
            columns.by(printing.node_address("ExternalIP")),
            "core.v1.NodeStatus addresses",
            1,
        ),
        columns.Column(
            "OS-Image",
            columns.at("status.nodeInfo.osImage", "<unknown>"),
            "core.v1.NodeSystemInfo osImage",
            1,
        ),
        columns.Column(
            "Kernel-Version",
            columns.at("status.nodeInfo.kernelVersion", "<unknown>"),
            "core.v1.NodeSystemInfo kernelVersion",
            1,
        ),
        columns.Column(
            "Container-Runtime",
            columns.at("status.nodeInfo.containerRuntimeVersion", "<unknown>"),
            "core.v1.NodeSystemInfo containerRuntimeVersion",
            1,
        ),
    ),
    ("", "Namespace"): (
        columns.NAME,
        columns.Column("Status", columns.at("status.phase"), "The status of the namespace"),
        columns.AGE,
    ),
    ("", "Event"): (
        columns.Column(
            "Last Seen",
            printing.event_last_seen,
            "The time at which the most recent occurrence of this event was recorded.",
        ),
        columns.Column("Type", columns.at("type"), "core.v1.Event type"),
        columns.Column("Reason", columns.at("reason"), "core.v1.Event reason"),
        columns.Column("Object", columns.by(printing.event_object), "core.v1.Event involvedObject"),
        columns.Column(
            "Subobject",
            columns.at("involvedObject.fieldPath"),
            "core.v1.ObjectReference fieldPath",
            1,
        ),
        columns.Column("Source", columns.by(printing.event_source), "core.v1.Event source", 1),
        columns.Column("Message", columns.at("message"), "core.v1.Event message"),
        columns.Column("First Seen", printing.event_first_seen, "core.v1.Event firstTimestamp", 1),
        columns.Column("Count", columns.by(printing.event_count), "core.v1.Event count", 1),
        columns.NAME._replace(priority=1),
    ),
    ("", "ConfigMap"): (
        columns.NAME,
        columns.Column("Data", columns.by(printing.data_count), "core.v1.ConfigMap data"),
        columns.AGE,
    ),
    ("", "Secret"): (
        columns.NAME,
        columns.Column("Type", columns.at("type"), "core.v1.Secret type"),
        columns.Column("Data", columns.by(printing.data_count), "core.v1.Secret data"),
        columns.AGE,
    ),
    ("", "ServiceAccount"): (
        columns.NAME,
        columns.Column(
            "Secrets", columns.by(printing.count("secrets")), "core.v1.ServiceAccount secrets"
        ),
        columns.AGE,
    ),
    ("", "Service"): (
        columns.NAME,
        columns.Column("Type", columns.at("spec.type", "ClusterIP"), "core.v1.ServiceSpec type"),
        columns.Column(
            "Cluster-IP",
            columns.at("spec.clusterIP", columns.NONE),
            "core.v1.ServiceSpec clusterIP",
        ),
        columns.Column(
            "External-IP", columns.by(printing.external_ips), "core.v1.ServiceSpec externalIPs"
        ),
        columns.Column("Port(s)", columns.by(printing.service_ports), "core.v1.ServiceSpec ports"),
        columns.AGE,
        columns.SELECTOR,
    ),
    ("", "PersistentVolume"): (
        columns.NAME,
        columns.Column(
            "Capacity", columns.at("spec.capacity.storage"), "core.v1.PersistentVolumeSpec capacity"
        ),
        columns.Column(
            "Access Modes",
            columns.by(printing.access_modes("spec.accessModes")),
            "core.v1.PersistentVolumeSpec accessModes",
        ),
        columns.Column(
            "Reclaim Policy",
            columns.at("spec.persistentVolumeReclaimPolicy"),
            "core.v1.PersistentVolumeSpec persistentVolumeReclaimPolicy",
        ),
        columns.Column(
            "Status", columns.by(printing.phase), "core.v1.PersistentVolumeStatus phase"
        ),
        columns.Column(
            "Claim", columns.by(printing.volume_claim), "core.v1.PersistentVolumeSpec claimRef"
        ),
        columns.Column(
            "StorageClass", columns.at("spec.storageClassName"), "StorageClass of the pv"
        ),
        columns.Column(
            "Reason", columns.at("status.reason"), "core.v1.PersistentVolumeStatus reason"
        ),
        columns.AGE,
    ),
    ("", "PersistentVolumeClaim"): (
        columns.NAME,
        columns.Column(
            "Status", columns.by(printing.phase), "core.v1.PersistentVolumeClaimStatus phase"
        ),
        columns.Column(
            "Volume", columns.at("spec.volumeName"), "core.v1.PersistentVolumeClaimSpec volumeName"
        ),
        columns.Column(
            "Capacity",
            columns.at("status.capacity.storage"),
            "core.v1.PersistentVolumeClaimStatus capacity",
        ),
        columns.Column(
            "Access Modes",
            columns.by(printing.access_modes("status.accessModes")),
            "core.v1.PersistentVolumeClaimStatus accessModes",
        ),
        columns.Column(
            "StorageClass", columns.at("spec.storageClassName"), "StorageClass of the pvc"
        ),
        columns.AGE,
    ),
}

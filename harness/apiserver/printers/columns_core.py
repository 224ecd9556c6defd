"""The columns of the core group's kinds, except workloads."""

from harness.apiserver.printers import cells, columns

COLUMNS: dict[tuple[str, str], tuple[columns.Column, ...]] = {
    ("", "Node"): (
        columns.NAME,
        columns.Column("Status", columns.by(cells.node_status), "The status of the node"),
        columns.Column("Roles", columns.by(cells.node_roles), "The roles of the node"),
        columns.AGE,
        columns.field("Version", "status.nodeInfo.kubeletVersion", "core.v1.NodeSystemInfo"),
        columns.Column(
            "Internal-IP",
            columns.by(cells.node_address("InternalIP")),
            "core.v1.NodeStatus addresses",
            1,
        ),
        columns.Column(
            "External-IP",
            columns.by(cells.node_address("ExternalIP")),
            "core.v1.NodeStatus addresses",
            1,
        ),
        columns.field(
            "OS-Image", "status.nodeInfo.osImage", "core.v1.NodeSystemInfo", "<unknown>", priority=1
        ),
        columns.field(
            "Kernel-Version",
            "status.nodeInfo.kernelVersion",
            "core.v1.NodeSystemInfo",
            "<unknown>",
            priority=1,
        ),
        columns.field(
            "Container-Runtime",
            "status.nodeInfo.containerRuntimeVersion",
            "core.v1.NodeSystemInfo",
            "<unknown>",
            priority=1,
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
            cells.event_last_seen,
            "The time at which the most recent occurrence of this event was recorded.",
        ),
        columns.field("Type", "type", "core.v1.Event"),
        columns.field("Reason", "reason", "core.v1.Event"),
        columns.Column("Object", columns.by(cells.event_object), "core.v1.Event involvedObject"),
        columns.field(
            "Subobject", "involvedObject.fieldPath", "core.v1.ObjectReference", priority=1
        ),
        columns.Column("Source", columns.by(cells.event_source), "core.v1.Event source", 1),
        columns.field("Message", "message", "core.v1.Event"),
        columns.Column("First Seen", cells.event_first_seen, "core.v1.Event firstTimestamp", 1),
        columns.Column("Count", columns.by(cells.event_count), "core.v1.Event count", 1),
        columns.NAME._replace(priority=1),
    ),
    ("", "ConfigMap"): (
        columns.NAME,
        columns.Column("Data", columns.by(cells.data_count), "core.v1.ConfigMap data"),
        columns.AGE,
    ),
    ("", "Secret"): (
        columns.NAME,
        columns.field("Type", "type", "core.v1.Secret"),
        columns.Column("Data", columns.by(cells.data_count), "core.v1.Secret data"),
        columns.AGE,
    ),
    ("", "ServiceAccount"): (
        columns.NAME,
        columns.Column(
            "Secrets", columns.by(cells.count("secrets")), "core.v1.ServiceAccount secrets"
        ),
        columns.AGE,
    ),
    ("", "Service"): (
        columns.NAME,
        columns.field("Type", "spec.type", "core.v1.ServiceSpec", "ClusterIP"),
        columns.field("Cluster-IP", "spec.clusterIP", "core.v1.ServiceSpec", columns.NONE),
        columns.Column(
            "External-IP", columns.by(cells.external_ips), "core.v1.ServiceSpec externalIPs"
        ),
        columns.Column("Port(s)", columns.by(cells.service_ports), "core.v1.ServiceSpec ports"),
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
            columns.by(cells.access_modes("spec.accessModes")),
            "core.v1.PersistentVolumeSpec accessModes",
        ),
        columns.field(
            "Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "core.v1.PersistentVolumeSpec"
        ),
        columns.Column("Status", columns.by(cells.phase), "core.v1.PersistentVolumeStatus phase"),
        columns.Column(
            "Claim", columns.by(cells.volume_claim), "core.v1.PersistentVolumeSpec claimRef"
        ),
        columns.Column(
            "StorageClass", columns.at("spec.storageClassName"), "StorageClass of the pv"
        ),
        columns.field("Reason", "status.reason", "core.v1.PersistentVolumeStatus"),
        columns.AGE,
    ),
    ("", "PersistentVolumeClaim"): (
        columns.NAME,
        columns.Column(
            "Status", columns.by(cells.phase), "core.v1.PersistentVolumeClaimStatus phase"
        ),
        columns.field("Volume", "spec.volumeName", "core.v1.PersistentVolumeClaimSpec"),
        columns.Column(
            "Capacity",
            columns.at("status.capacity.storage"),
            "core.v1.PersistentVolumeClaimStatus capacity",
        ),
        columns.Column(
            "Access Modes",
            columns.by(cells.access_modes("status.accessModes")),
            "core.v1.PersistentVolumeClaimStatus accessModes",
        ),
        columns.Column(
            "StorageClass", columns.at("spec.storageClassName"), "StorageClass of the pvc"
        ),
        columns.AGE,
    ),
}

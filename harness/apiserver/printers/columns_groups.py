"""The columns of kinds outside the core group, except workloads."""

from harness.apiserver.printers import cells, columns

COLUMNS: dict[tuple[str, str], tuple[columns.Column, ...]] = {
    ("coordination.k8s.io", "Lease"): (
        columns.NAME,
        columns.field("Holder", "spec.holderIdentity", "coordination.v1.LeaseSpec"),
        columns.AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        columns.NAME,
        columns.field("Value", "value", "scheduling.v1.PriorityClass", 0),
        columns.Column(
            "Global-Default",
            columns.flag("globalDefault"),
            "scheduling.v1.PriorityClass globalDefault",
        ),
        columns.AGE,
        columns.field("PreemptionPolicy", "preemptionPolicy", "scheduling.v1.PriorityClass"),
    ),
    ("storage.k8s.io", "StorageClass"): (
        columns.NAME,
        columns.field("Provisioner", "provisioner", "storage.v1.StorageClass"),
        columns.field("ReclaimPolicy", "reclaimPolicy", "storage.v1.StorageClass", "Delete"),
        columns.field(
            "VolumeBindingMode", "volumeBindingMode", "storage.v1.StorageClass", "Immediate"
        ),
        columns.Column(
            "AllowVolumeExpansion",
            columns.flag("allowVolumeExpansion"),
            "storage.v1.StorageClass allowVolumeExpansion",
        ),
        columns.AGE,
    ),
    ("rbac.authorization.k8s.io", "Role"): (
        columns.NAME,
        columns.Column(
            "Created At", columns.at("metadata.creationTimestamp"), columns.AGE.described
        ),
    ),
    ("rbac.authorization.k8s.io", "ClusterRole"): (
        columns.NAME,
        columns.Column(
            "Created At", columns.at("metadata.creationTimestamp"), columns.AGE.described
        ),
    ),
    ("rbac.authorization.k8s.io", "RoleBinding"): (
        columns.NAME,
        columns.Column("Role", columns.by(cells.role), "rbac.v1.RoleBinding roleRef"),
        columns.AGE,
    ),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (
        columns.NAME,
        columns.Column("Role", columns.by(cells.role), "rbac.v1.ClusterRoleBinding roleRef"),
        columns.AGE,
    ),
    ("resource.k8s.io", "ResourceClaim"): (
        columns.NAME,
        columns.Column(
            "State",
            columns.by(cells.claim_state),
            "A summary of the current state (allocated, pending, reserved, etc.).",
        ),
        columns.AGE,
    ),
    ("resource.k8s.io", "ResourceSlice"): (
        columns.NAME,
        columns.field("Node", "spec.nodeName", "resource.v1.ResourceSliceSpec"),
        columns.field("Driver", "spec.driver", "resource.v1.ResourceSliceSpec"),
        columns.field("Pool", "spec.pool.name", "resource.v1.ResourcePool"),
        columns.AGE,
    ),
}

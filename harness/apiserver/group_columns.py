"""The columns of the kinds of other API groups: leases, priorities, storage, roles, devices."""

from harness.apiserver import columns, printing

COLUMNS: dict[tuple[str, str], tuple[columns.Column, ...]] = {
    ("coordination.k8s.io", "Lease"): (
        columns.NAME,
        columns.Column(
            "Holder", columns.at("spec.holderIdentity"), "coordination.v1.LeaseSpec holderIdentity"
        ),
        columns.AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        columns.NAME,
        columns.Column("Value", columns.at("value", 0), "scheduling.v1.PriorityClass value"),
        columns.Column(
            "Global-Default",
            columns.flag("globalDefault"),
            "scheduling.v1.PriorityClass globalDefault",
        ),
        columns.AGE,
        columns.Column(
            "PreemptionPolicy",
            columns.at("preemptionPolicy"),
            "scheduling.v1.PriorityClass preemptionPolicy",
        ),
    ),
    ("storage.k8s.io", "StorageClass"): (
        columns.NAME,
        columns.Column(
            "Provisioner", columns.at("provisioner"), "storage.v1.StorageClass provisioner"
        ),
        columns.Column(
            "ReclaimPolicy",
            columns.at("reclaimPolicy", "Delete"),
            "storage.v1.StorageClass reclaimPolicy",
        ),
        columns.Column(
            "VolumeBindingMode",
            columns.at("volumeBindingMode", "Immediate"),
            "storage.v1.StorageClass volumeBindingMode",
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
        columns.Column("Role", columns.by(printing.role), "rbac.v1.RoleBinding roleRef"),
        columns.AGE,
    ),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (
        columns.NAME,
        columns.Column("Role", columns.by(printing.role), "rbac.v1.ClusterRoleBinding roleRef"),
        columns.AGE,
    ),
    ("resource.k8s.io", "ResourceClaim"): (
        columns.NAME,
        columns.Column(
            "State",
            columns.by(printing.claim_state),
            "A summary of the current state (allocated, pending, reserved, etc.).",
        ),
        columns.AGE,
    ),
    ("resource.k8s.io", "ResourceSlice"): (
        columns.NAME,
        columns.Column(
            "Node", columns.at("spec.nodeName"), "resource.v1.ResourceSliceSpec nodeName"
        ),
        columns.Column("Driver", columns.at("spec.driver"), "resource.v1.ResourceSliceSpec driver"),
        columns.Column("Pool", columns.at("spec.pool.name"), "resource.v1.ResourcePool name"),
        columns.AGE,
    ),
}

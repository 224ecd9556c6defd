"""Clusters to run on: a provider starts a cluster and returns its kubeconfig.

All providers implement the same interface, so that no other package depends on a particular one.

Scheduling and judging do not belong here: a kubelet rejects a pod whose claims are not allocated
and reserved for it, but does not check which other claims hold the device.

Contents: `audit_logs`, `cluster_records`, `control_plane_settings`, `doctor`, `dra`,
`embedded_cluster`, `existing_cluster`, `fixtures`, `interfaces`, `kind`, `lifecycle`, `local`,
`loopback_ports`, `pool_changes`, `providers`, `state_folder`.
"""

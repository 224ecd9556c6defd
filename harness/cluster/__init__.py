"""Clusters to run on: a provider starts a cluster and returns its kubeconfig.

All providers implement the same interface, so that no other package depends on a particular one.

Scheduling and judging do not belong here: a kubelet rejects a pod whose claims are not allocated
and reserved for it, but does not check which other claims hold the device.

Contents: `interfaces` (of providers and clusters), `providers` (the provider for a profile),
`embedded_cluster`, `existing_cluster`, `kind`, `local` (the four providers),
`control_plane_settings` (shared by two of them), `cluster_records` (the list of clusters on this
machine), `state_folder` (its place), `lifecycle` (hold, keep up, prune), `fixtures` (fake nodes,
device pools and kubelets), `doctor` (checks of this machine).
"""

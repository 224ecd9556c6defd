"""ResourceClaims on nodes: the kubelet's DRA manager, and a DRA test driver.

The names and the order of work are those of the kubelet's package `cm/dra`. Watching pods and
reporting their status do not belong here (see `fixtures.kubelets`).

Contents: `cdi_files`, `claim_infos`, `claim_managers`, `containers`, `device_attachments`,
`driver_settings`, `drivers`, `kubelet_defects`, `kubelet_metrics`, `kubelet_parts`, `node_claims`,
`pod_claims`, `preparation_journals`.
"""

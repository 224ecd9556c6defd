"""Clusters to run on: a provider starts a cluster and returns its kubeconfig.

The providers are `kind`, `local`, `embedded_cluster` and `existing_cluster`; `interfaces` defines
what each must implement, so that no other package depends on a particular provider.
`cluster_records` lists every cluster created on this machine, `lifecycle` starts, stops and prunes
clusters, `fixtures` creates fake nodes with device pools and runs their kubelets, and `doctor`
reports what this machine lacks.

Scheduling and judging do not belong here: a kubelet rejects a pod whose claims are not allocated
and reserved for it, but does not check which other claims hold the device.
"""

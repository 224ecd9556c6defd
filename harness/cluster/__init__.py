"""Clusters to run on. A provider starts a cluster and hands out a kubeconfig; nothing above knows which provider it was.

The providers are `kind`, `local`, `embedded_cluster` and `existing_cluster`; `interfaces` says what each must offer. `fixtures` holds fake
nodes with their device pools, and their kubelets; `lifecycle` keeps and prunes clusters; `cluster_records` lists what was made on
this machine; `doctor` checks what a machine lacks.

No scheduling and no judging belong here: a kubelet refuses a pod whose claims are not allocated and reserved for it, and does not
check who else holds the device.
"""

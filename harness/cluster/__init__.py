"""Clusters to run on: a provider starts a cluster and returns its kubeconfig.

All providers implement the same interface, so that no other package depends on a particular one.

Scheduling and judging do not belong here: a kubelet rejects a pod whose claims are not allocated
and reserved for it, but does not check which other claims hold the device.
"""

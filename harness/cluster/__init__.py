"""Clusters to run on: providers, fake nodes with their device pools, and the kubelets that pretend to run pods.

A provider starts a cluster and hands out a kubeconfig; nothing above it knows which provider it was. No scheduling here, and no
judging: a kubelet refuses a pod whose claims are not allocated and reserved for it, and does not ask who else has the device.
"""

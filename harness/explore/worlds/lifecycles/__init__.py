"""Worlds about the whole life of a pod: claim controller, kubelets, a node's DRA manager."""

"""Worlds about the whole life of a pod: with claim controller, kubelets, or a node's DRA manager.
"""

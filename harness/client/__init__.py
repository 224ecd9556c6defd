"""Talking to an API server: kubeconfigs, connections, verbs, watches, informers, outcomes, and recording what happens.

Knows Kubernetes' protocol and nothing of scheduling: no devices, no queues, no verdicts.
"""

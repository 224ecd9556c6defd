"""The Kubernetes client: kubeconfigs, transports, verbs, watches, informers, journals, recorders.

It knows the protocol of Kubernetes, but nothing of scheduling: devices, queues and verdicts do not
belong here.
"""

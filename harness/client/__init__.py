"""The Kubernetes client: kubeconfigs, transports, verbs, watches, informers, journals, recorders.

It knows the protocol of Kubernetes, but nothing of scheduling: devices, queues and verdicts do not
belong here.

Contents: `apis`, `backoffs`, `client_kubeconfigs`, `exec_credentials`, `impersonations`,
`informers`, `journaling`, `kubeconfig_files`, `kubeconfigs`, `outcomes`, `passed_versions`,
`proxies`, `recorders`, `resource_streams`, `transports`.
"""

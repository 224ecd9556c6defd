"""The Kubernetes client: kubeconfigs, transports, verbs, watches, informers, journals, recorders.

It knows the protocol of Kubernetes, but nothing of scheduling: devices, queues and verdicts do not
belong here.

Contents: `kubeconfigs`, `exec_credentials` (exec plugins), `proxies`, `impersonations` (headers),
`transports` (HTTP), `apis` (verbs), `informers`, `outcomes` (of calls), `journaling` (a transport
that records writes), `recorders` (a process that records watches).
"""

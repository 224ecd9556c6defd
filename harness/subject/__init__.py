"""The Python scheduler and ResourceClaim controller, and their known defects.

Written with the lock boundaries of kube-scheduler's DRA plugin, because that is where its races live: an assume cache that
drains its events through whoever calls it, a tracker of allocated devices with a lock of its own, claims in flight with another,
one scheduling thread and many binding threads. All threads, locks, queues and time come from `concurrency`.

No judging and nothing that judges use: judge and judged read API objects each in their own way. Nothing of the harness's
run either: this runs stand-alone against any kubeconfig.
"""

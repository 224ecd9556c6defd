"""The Python scheduler and ResourceClaim controller, their known defects, and remedies.

The lock boundaries are those of kube-scheduler's DRA plugin, because its races happen between them:
an assume cache whose events are delivered on the threads of its callers; a tracker of allocated
devices with its own lock; in-flight claims with another lock; one scheduling thread and many
binding threads. All threads, locks, queues and clocks come from `concurrency`.

Two things do not belong here. First, judging, and any code that the checks use: the subject and the
checks read API objects independently of each other. Second, the orchestration of a run: these
processes also run stand-alone against any kubeconfig.
"""

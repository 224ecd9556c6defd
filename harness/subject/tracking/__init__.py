"""The scheduler's books: which devices are in use, by what it has assumed, seen or planned.

The lock boundaries are those of kube-scheduler's DRA plugin, because its races happen between them:
an assume cache whose events are delivered on the threads of its callers, a tracker of allocated
devices with its own lock, and claims in flight with another one. Decisions do not belong here.
"""

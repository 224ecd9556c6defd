"""The controlled runtime: greenlets, locks, timers and choices instead of threads, so that an interleaving can be chosen and replayed.

It knows nothing of Kubernetes or of the scheduler.
"""

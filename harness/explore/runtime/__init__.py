"""The controlled runtime: greenlets, locks, timers and choices in place of threads.

It makes an interleaving something that can be chosen and replayed. Knowledge of Kubernetes or the
scheduler does not belong here.
"""

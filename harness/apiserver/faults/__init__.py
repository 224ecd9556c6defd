"""Fault injection on demand: which request, response or watch event a fault applies to, and the admin API that sets it.

Faults decide; the request lifecycle and the watch streams in `server` act on the decision. No bytes and no connections in here.
"""

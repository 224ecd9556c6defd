"""Fault injection on demand: which requests, responses or watch events a fault applies to.

`injection` matches faults, `admin_api` serves them over HTTP. Not in here: delaying, rejecting and
dropping itself, which `server.request_lifecycle` and `server.watch_streams` do.

Contents: `admin_api`, `injection`.
"""

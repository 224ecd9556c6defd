"""The audit log of the API server: events of audit.k8s.io/v1, one a line.

The order of events and responses does not belong here (see `servers.GroupCommit`).
"""

"""The HTTP server process: listeners, connections, watch streams, group commit, the audit log.

Only this package does network I/O. Not in here: the meaning of a request (`endpoints`), the format
of the data directory (`persistence`), and anything that depends on a certain resource.
"""

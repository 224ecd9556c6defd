"""The HTTP server process: listeners, connections, request lifecycle, watch streams, group commit, audit log, certificates.

Only this package does network I/O and knows the event loop. What a request means is decided in `endpoints`; what is written to
disk is formatted by `persistence`. Nothing here knows a resource by name.
"""

"""The HTTP server process: listeners, connections, watch streams, group commit, the audit log.

Only this package does network I/O. Not in here: the meaning of a request (`endpoints`), the format
of the data directory (`persistence`), and anything that depends on a certain resource.

Contents: `admin_kubeconfigs`, `audit`, `chunked_responses`, `connections`, `event_faults`,
`event_queues`, `fault_facts`, `group_commit`, `http_framing`, `http_parsing`, `identities`,
`listeners`, `metrics`, `output_files`, `process`, `request_lifecycle`, `send_queue`,
`server_limits`, `servers`, `stale_reads`, `watch_streams`.
"""

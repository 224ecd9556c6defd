"""Where pods wait until they are scheduled, and the events that let them go on.

After pkg/scheduler/backend/queue and pkg/scheduler/eventhandlers.go.

Deciding where a pod runs does not belong here (`scheduling`).

Contents: `cluster_events`, `event_handlers`, `in_flight_events`, `queue_parts`,
`queued_pods`, `queueing_hints`, `scheduling_queue`.
"""

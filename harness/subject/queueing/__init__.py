"""Where pods wait until they are scheduled, and the events that let them go on.

After pkg/scheduler/backend/queue and pkg/scheduler/eventhandlers.go.

Deciding where a pod runs does not belong here (`scheduling`).
"""

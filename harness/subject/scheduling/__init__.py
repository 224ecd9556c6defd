"""One attempt after the other: which node a pod gets, and which devices are reserved for it.

After schedulePod and schedulingCycle in pkg/scheduler/schedule_one.go.

The work of the plugin at each extension point does not belong here (`dynamic_resources`). Neither
do writes to the API server (`binding`).

Contents: `assigned_pods`, `node_groups`, `node_lists`, `node_orders`,
`node_resources`, `node_scores`, `node_search`, `scheduling_cycles`.
"""

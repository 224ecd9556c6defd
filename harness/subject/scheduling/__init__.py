"""The scheduling cycle and the binding cycle, after pkg/scheduler/schedule_one.go.

One thread decides which node each pod gets, one pod after the other; each pod with reserved devices
has a binding thread, which calls PreBind and writes the pod's binding.

The work of the plugin at each extension point does not belong here (`dynamic_resources`, and
`binding` for PreBind).
"""

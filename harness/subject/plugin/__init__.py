"""The DynamicResources plugin: which claims a pod needs, where they fit, and their writes.

Its state is one `scheduling_attempts.Attempt` for each attempt. PreFilter to Reserve are called on
the scheduling thread, PreBind and Unreserve on the binding threads. The threads do not belong here
(`scheduling`), nor does the choice of devices on a node (`allocation`).
"""

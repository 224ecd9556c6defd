"""Extended resources that devices back: a pod asks for `example.com/gpu: 2` and names no claim.

After extendeddynamicresources.go in pkg/scheduler/framework/plugins/dynamicresources of Kubernetes
1.36 (KEP-5004). A DeviceClass says which extended resource it backs; the scheduler makes the claim.
PreFilter makes it in memory, and it is allocated like any other claim. Reserve puts it in flight.
PreBind creates it, writes it like any other claim, and names it in the pod's status. A claim that
an earlier attempt left is deleted, by Unreserve or by PostFilter.

A class keeps its implicit resource when a newer class has the same explicit one; upstream is wrong
there. Device plugins of nodes are not looked at.

The allocator does not belong here, nor does the order of the writes of a claim (`binding`).
"""

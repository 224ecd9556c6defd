"""The ResourceSlices as the scheduler sees them: with the taints of the DeviceTaintRules.

After k8s.io/dynamic-resource-allocation/resourceslice/tracker. The allocator knows no rules; it
finds their taints in the slices.

A taint of effect NoExecute keeps a device from being allocated, and that is all it does here: the
pods that use the device are evicted by `claim_control`.
"""

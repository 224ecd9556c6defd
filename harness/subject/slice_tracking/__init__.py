"""The ResourceSlices as the scheduler sees them: with the taints of the DeviceTaintRules.

After k8s.io/dynamic-resource-allocation/resourceslice/tracker. The allocator knows no rules; it
finds their taints in the slices.

A taint of effect NoExecute keeps a device from being allocated, and that is all it does here:
upstream, too, it is not the scheduler that evicts the pods which use the device, but a controller
of kube-controller-manager (device-taint-eviction), which the subject does not have.
"""

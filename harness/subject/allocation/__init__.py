"""The structured allocator: which devices a node can give to the claims of a pod.

After k8s.io/dynamic-resource-allocation/structured of Kubernetes 1.36, the variant that supports
all features. `inventories` keeps the ResourceSlices as pools; an `allocators.Allocator` is made for
one scheduling attempt, and each of its searches keeps its choices to itself, so that searches on
several nodes may run at the same time.

Where release 1.36.2 is known to be wrong, this is right: counters are released with the devices
that consumed them, pools are identified by driver and name, `distinctAttribute` compares all
devices, and `matchAttribute` over lists forgets a device that was given up.

Writing claims does not belong here, nor does keeping the devices that are allocated already
(`allocated_devices`, `in_flight`, `gathering`).
"""

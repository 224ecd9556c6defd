"""The structured allocator: which devices a node can give to the claims of a pod.

After k8s.io/dynamic-resource-allocation/structured of Kubernetes 1.36, the variant that supports
all features. `inventories` keeps the ResourceSlices as pools; an `allocators.Allocator` is made for
one scheduling attempt, and each of its searches keeps its choices to itself, so that searches on
several nodes may run at the same time.

Writing claims does not belong here, nor does keeping the devices that are allocated already
(`allocated_devices`, `in_flight`, `gathering`).
"""

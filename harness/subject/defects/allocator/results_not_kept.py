"""Mutants of the allocator: results say something else than what was allocated. None was shipped.

The API server knows neither slices nor other claims, so it stores such results.
"""

from harness.model.objects import Object
from harness.subject.allocation import allocators, inventories

_SHARE = "b1d3c8f0-6f0e-4c4e-9a55-0c8f6a1f3e77"
"""Any share ID."""


class AdminAccessForAllAllocator(allocators.Allocator):
    """Every result has admin access, whether its request asks for it or not.

    Results with admin access do not count as allocated, so the scheduler gives each device away
    again and again, and no check of exclusivity may call that a double allocation. A mutant; no
    release is known to be affected.
    """

    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        return _with(super()._allocate(view, node), {"adminAccess": True})


class WholeDevicesSharedAllocator(allocators.Allocator):
    """Every result without a share ID gets one, as if its device could be shared.

    A mutant; no release is known to be affected.
    """

    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        return _with(super()._allocate(view, node), {"shareID": _SHARE})


class NodeSelectorNotWrittenAllocator(allocators.Allocator):
    """Allocations have no node selector, as if their devices could be reached from every node.

    Another pod that uses such a claim may be bound to any node. A mutant; no release is known to be
    affected.
    """

    def _allocate(self, view: inventories.NodeView, node: Object) -> list[Object] | None:
        found = super()._allocate(view, node)
        for allocation in found or ():
            allocation.pop("nodeSelector", None)
        return found


def _with(found: list[Object] | None, fields: Object) -> list[Object] | None:
    """Add fields to all results that lack them."""
    for allocation in found or ():
        devices = allocation["devices"]
        devices["results"] = [{**fields, **row} for row in devices.get("results") or ()]
    return found

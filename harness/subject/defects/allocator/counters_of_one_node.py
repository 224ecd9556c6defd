"""The counters of a pool on several nodes, computed for each node alone."""

from collections.abc import Iterable
from decimal import Decimal

from harness.subject.allocation import allocators, devices, inventories, pools


class CountersOfOneNodeAllocator(allocators.Allocator):
    """Only devices that the node can use count when the free counters of a pool are computed.

    In a pool whose devices are on different nodes, each node consumes the counters as if it had
    them alone. No release is known to be affected. The allocator of 1.34 has a related mistake: it
    computes free counters slice by slice; since 1.36 it takes all slices of a pool together.
    """

    def _free(
        self, view: inventories.NodeView, device: devices.Device
    ) -> dict[devices.Counter, Decimal]:
        self._free_counters = {}  # they are of another node
        return super()._free(view, device)

    def _consumers(self, view: inventories.NodeView, pool: pools.Pool) -> Iterable[devices.Device]:
        seen = {device.id for device in view.devices}
        return [device for device in super()._consumers(view, pool) if device.id in seen]

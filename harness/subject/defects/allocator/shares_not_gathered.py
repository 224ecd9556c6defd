"""Counters that shares consume are given away again (kubernetes#139034)."""

from harness.subject.allocation import allocators, devices


class SharesNotGatheredAllocator(allocators.Allocator):
    """Devices that are in use by shares only do not count when the free counters are computed.

    Another partition that overlaps with such a device can be allocated. Affects kube-scheduler
    1.34, whose gathered state begins without the IDs of allocated shares; fixed in 1.36
    (kubernetes#139040).
    """

    def _is_counted(self, consumer: devices.Device) -> bool:
        return consumer.id in self._allocated.devices

"""One device in two results of a claim with admin access (kubernetes#131269)."""

from harness.subject.allocation import allocators, device_requests, devices, holdings


class _AdminIgnoresItselfHoldings(holdings.Holdings):
    def is_held(self, claim: int, option: device_requests.Option, device: devices.Device) -> bool:
        return not option.admin_access and super().is_held(claim, option, device)


class AdminDeviceTwiceAllocator(allocators.Allocator):
    """Requests with admin access ignore what their own claim has got, as they ignore other claims.

    So two such requests of a claim get the same device, although there are others. kube-scheduler
    did this up to 1.32 (kubernetes#131269); since then a claim never gets a device twice
    (kubernetes#131299).
    """

    holdings_class = _AdminIgnoresItselfHoldings

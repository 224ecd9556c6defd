"""Tables of devices and the claims that each of them has, bounded in both."""

DEVICES_MAX = 200_000
"""Devices that a table remembers; the first ones are forgotten first."""
CLAIMS_OF_DEVICE_MAX = 20
"""Claims that are remembered for one device, the latest ones."""
Table = dict[str, dict[str, None]]
"""By device, its claims in the order in which they came."""


def add(table: Table, device: str, claim: str) -> None:
    """Add a claim to those of a device."""
    claims = table.get(device)
    if claims is None:
        if len(table) >= DEVICES_MAX:
            del table[next(iter(table))]
        table[device] = {claim: None}
        return
    claims[claim] = None
    if len(claims) > CLAIMS_OF_DEVICE_MAX:
        del claims[next(iter(claims))]


def discard(table: Table, device: str, claim: str) -> None:
    """Remove a claim from those of a device, if it is there."""
    claims = table.get(device)
    if claims is not None:
        claims.pop(claim, None)
        if not claims:
            del table[device]

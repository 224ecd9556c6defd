"""The identity of devices in the API."""

from typing import NamedTuple


class DeviceID(NamedTuple):
    """`<driver>/<pool>/<device>`, the API's own unique identifier of a device."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


def parse(text: str) -> DeviceID:
    """Parse `<driver>/<pool>/<device>`; pool names may contain slashes.

    Raises ValueError if a part is missing.
    """
    driver, _, rest = text.partition("/")
    pool, _, device = rest.rpartition("/")
    if not (driver and pool and device):
        raise ValueError(f"expected driver/pool/device, got {text!r}")
    return DeviceID(driver, pool, device)

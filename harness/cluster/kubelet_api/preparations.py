"""The words of the protocol, without its bytes: what a driver is asked, and what it answers.

A driver prepares by `prepare(claims, node) -> {uid: Prepared | PreparationError}` and unprepares
by `unprepare(claims, node) -> {uid: None | PreparationError}`, with `ClaimReference`s. An answer
has an entry for each claim of the call.
"""

from typing import NamedTuple

import msgspec

SERVICES = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
"""The services of a driver that `services` has, by their names in `supported_versions`."""


class ClaimReference(NamedTuple):
    """A claim as a kubelet names it. Only the uid tells it from one of the same name before."""

    namespace: str
    name: str
    uid: str


class PreparedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device of a prepared claim."""

    request_names: tuple[str, ...] = ()
    """The requests that it is for; none: for all of the claim."""
    pool: str
    device: str
    cdi_device_ids: tuple[str, ...] = ()
    """`vendor/class=name` of the entries in CDI files by which containers get it."""
    share_id: str | None = None
    """Only v1 of the protocol has it."""


Prepared = tuple[PreparedDevice, ...]
"""The devices of one prepared claim."""


DRIVER_ERROR = "DriverError"
"""The reason of an error for which a driver gives only words, as the protocol has it."""


class PreparationError(Exception):
    """A claim cannot be prepared or unprepared now; a later attempt may succeed."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """CamelCase, as reasons in the API: `NotReserved`, `DeviceHeld`, …"""

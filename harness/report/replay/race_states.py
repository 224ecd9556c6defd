"""States of a device in the versions of a claim, and claims as words."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from harness.manifests import places
from harness.report.causes import deciding_writes

_DEVICE = ("driver", "pool", "device")
_PODS_MAX = 3
"""Pods of a claim that are named."""


class Stored(NamedTuple):
    """A version of a claim, as the API server stores it."""

    version: int
    devices: tuple[str, ...]
    """`driver/pool/device`; none once it is deleted."""
    pods: tuple[str, ...]
    """Names of those that it is reserved for."""
    finalizers: tuple[str, ...]
    is_ending: bool
    """Its deletion was asked for."""
    is_gone: bool

    def words(self, device: str) -> str:
        if self.is_gone:
            return f"version {self.version}: deleted"
        held = "the device" if device in self.devices else "another device"
        reserved = f", for {', '.join(self.pods)}" if self.pods else ""
        ending = ", being deleted" * self.is_ending
        return f"version {self.version}: {held if self.devices else 'no device'}{reserved}{ending}"


def stored(version: deciding_writes.Version) -> Stored:
    """Return what a version of a claim says; parts that are not of the API are left out."""
    obj = version.object
    results = places.tables(obj, "status.allocation.devices.results[]")
    reserved = itertools.islice(places.each(obj, "status.reservedFor[].name"), _PODS_MAX)
    return Stored(
        version=version.resource_version,
        devices=tuple(
            "/".join(str(item.get(key)) for key in _DEVICE)
            for item in results
            if not version.is_gone
        ),
        pods=tuple(map(str, reserved)),
        finalizers=tuple(map(str, places.each(obj, "metadata.finalizers[]"))),
        is_ending=bool(places.value(obj, "metadata.deletionTimestamp")),
        is_gone=version.is_gone,
    )


def differing(before: Stored | None, after: Stored, device: str) -> Iterator[str]:
    """Yield what a version of a claim says that the one before did not, each as a predicate."""
    if after.is_gone:
        yield "is deleted"
        return
    if before is None:
        yield "is created"
        before = after._replace(devices=(), pods=(), is_ending=False)
    had, has = before.devices, after.devices
    if (device in has) != (device in had):
        yield "gets the device" if device in has else "gives the device back"
    elif had != has:
        yield "gets another device" if has else "gives another device back"
    if after.is_ending and not before.is_ending:
        yield "is to be deleted"
    if added := [name for name in after.pods if name not in before.pods]:
        yield f"is reserved for {', '.join(added)}"
    if left := [name for name in before.pods if name not in after.pods]:
        yield f"is no longer reserved for {', '.join(left)}"
    if before.finalizers != after.finalizers:
        yield "has other finalizers"


def claims(letters: Sequence[str]) -> str:
    """Return claims as words; empty without any."""
    return f"claim{'s' * (len(letters) > 1)} {' and '.join(letters)}" if letters else ""


def by_process(items: Iterable[tuple[str, ...]]) -> str:
    """Return claims as words, of several processes each with its own."""
    named: dict[str, list[str]] = {}
    for process, letter in sorted(items):
        named.setdefault(process, []).append(letter)
    if len(named) == 1:
        return "".join(map(claims, named.values()))
    return "; ".join(f"{name}: {claims(letters)}" for name, letters in named.items())

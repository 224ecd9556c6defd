"""The CEL selectors of random problems, each with what it means in Python.

So the solver evaluates no CEL: it asks the predicate beside the expression.
"""

from collections.abc import Callable
from typing import Any

from harness.model import quantities

Object = dict[str, Any]
Predicate = Callable[[str, Object], bool]
"""Asks a driver's device. Raises KeyError where the expression fails."""
ATTRIBUTES = "device.attributes[device.driver]"


def _own(name: str) -> Callable[[Object], Any]:
    return lambda item: next(iter(item["attributes"][name].values()))


KIND, CORES, READY, VERSION = map(_own, ("kind", "cores", "ready", "version"))


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _has_memory(_: str, item: Object) -> bool:
    capacity = item.get("capacity", {}).get("mem")
    return capacity is not None and quantities.amount(capacity["value"]) >= 2


SELECTORS: dict[str, Predicate] = {
    f'{ATTRIBUTES}.kind == "x"': lambda _, item: KIND(item) == "x",
    f'{ATTRIBUTES}.kind == "y"': lambda _, item: KIND(item) == "y",
    f'"cores" in {ATTRIBUTES} && {ATTRIBUTES}.cores >= 2': lambda _, item: (
        "cores" in item["attributes"] and CORES(item) >= 2
    ),
    f'"ready" in {ATTRIBUTES} && {ATTRIBUTES}.ready': lambda _, item: (
        "ready" in item["attributes"] and READY(item)
    ),
    f'"version" in {ATTRIBUTES}'
    f' && {ATTRIBUTES}.version.isGreaterThan(semver("1.2.0"))': lambda _, item: (
        "version" in item["attributes"] and _version(VERSION(item)) > (1, 2, 0)
    ),
    "device.allowMultipleAllocations": lambda _, item: bool(item.get("allowMultipleAllocations")),
    '"mem" in device.capacity[device.driver]'
    ' && device.capacity[device.driver].mem.compareTo(quantity("2")) >= 0': _has_memory,
    'device.driver == "a.example.com"': lambda driver, _: driver == "a.example.com",
}
FAILING = f"{ATTRIBUTES}.cores >= 2"
"""It fails on a device that has no such attribute."""
SELECTORS[FAILING] = lambda _, item: CORES(item) >= 2

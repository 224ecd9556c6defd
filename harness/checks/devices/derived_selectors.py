"""Compares the node selector of an allocation with what follows from the places of its devices.

Selectors are compared by what they admit, not by how they are written: on each node that there was,
and on imagined ones that differ from it by one label or by the name.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.checks.devices import allocation_judging, device_catalogue, node_selectors

COMBINATIONS_MAX = 64
"""Combinations of versions of devices that are tried."""
OTHER = "(another one)"
"""Name of a node that there is not, and the value of a label that there is not."""
_CHANGED_OFTEN = allocation_judging.Unjudged(
    "the devices were changed too often to try all versions"
)
_Devices = Sequence[device_catalogue.KnownDevice]
_Node = tuple[str, Mapping[str, str]]
"""Name and labels of a node."""


def judge(
    selector: Any,
    devices: Sequence[_Devices],
    catalogue: device_catalogue.DeviceCatalogue,
    version: int,
) -> allocation_judging.Answer:
    """Return what is wrong with the selector of an allocation; None: nothing.

    `devices` are those of the allocation, each in its versions. Raises UnknownSelectorError.
    """
    if math.prod(map(len, devices)) > COMBINATIONS_MAX:
        return _CHANGED_OFTEN
    problem = ""
    labels = list(_all_labels(catalogue, version))
    for chosen in itertools.product(*devices):
        problem = _problem(selector, chosen, labels)
        if not problem:
            return None
    return allocation_judging.Wrong(f"its node selector {problem}")


def _all_labels(
    catalogue: device_catalogue.DeviceCatalogue, version: int
) -> Iterator[Mapping[str, str]]:
    for name in catalogue.node_names():
        yield from catalogue.nodes(name, version)


def _problem(selector: Any, devices: _Devices, labels: Sequence[Mapping[str, str]]) -> str:
    """Return what is wrong with a selector for versions of devices; empty: nothing."""
    local = {item.place.node_name for item in devices if item.place.node_name}
    if local or any(item.device.binds_to_node for item in devices):
        return _of_one_node(selector, local)
    selectors = [selector, *(item.place.node_selector for item in devices)]
    for name, known in _probes(selectors, labels):
        is_reached = all(item.place.reaches(name, known) for item in devices)
        if node_selectors.admits(selector, name, known) is not is_reached:
            verb = "does not admit" if is_reached else "admits"
            reach = "can" if is_reached else "cannot"
            return f"{verb} {_told(name, known)}, from which all its devices {reach} be reached"
    return ""


def _of_one_node(selector: Any, local: set[str]) -> str:
    """Return what is wrong with the selector of devices that can be used on one node only.

    A selector that finds the node of a local device by its labels is not judged here.
    """
    names = node_selectors.only_names(selector)
    wanted = ", ".join(sorted(local)) or "the one that was chosen"
    if selector is None or (names is None and not local):
        return f"does not name the only node from which its devices can be used: {wanted}"
    if names is None or names == local or (not local and len(names) == 1):
        return ""
    return f"names {', '.join(sorted(names))}, but its devices can only be used on {wanted}"


def _probes(selectors: Sequence[Any], labels: Sequence[Mapping[str, str]]) -> Iterator[_Node]:
    """Yield the nodes on which selectors are compared."""
    terms = [
        term
        for selector in selectors
        for term in (selector.get("nodeSelectorTerms") or () if selector else ())
    ]
    keys = sorted({item["key"] for term in terms for item in term.get("matchExpressions") or ()})
    names = sorted(
        {
            value
            for term in terms
            for item in term.get("matchFields") or ()
            for value in item.get("values") or ()
        }
    )
    relevant = {tuple((key, known[key]) for key in keys if key in known): None for known in labels}
    for name in (OTHER, *names):
        for pairs in (*relevant, ()):
            yield from ((name, changed) for changed in _changed(dict(pairs), keys))


def _changed(known: Mapping[str, str], keys: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Yield labels, and those that differ by one of the keys."""
    yield known
    for key in keys:
        yield {**known, key: OTHER}
        yield {name: value for name, value in known.items() if name != key}


def _told(name: str, labels: Mapping[str, str]) -> str:
    words = "another node" if name == OTHER else f"node {name}"
    listed = ", ".join(f"{key}={value}" for key, value in labels.items())
    return f"{words} with {listed}" if listed else words

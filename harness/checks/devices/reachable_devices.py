"""The check of places: an allocation admits the nodes from which its devices can be reached.

The API promises (resource.k8s.io/v1, AllocationResult.nodeSelector): "NodeSelector defines where
the allocated resources are available. If unset, they are available everywhere." So every node that
it admits must reach every device, it must admit a node, and all nodes that reach every device,
also those that may come. If one of the devices is on one node only, that node is admitted, whatever
its labels; if one is bound to the node that was chosen (bindsToNode), one node is admitted.

A node is wrong if it is admitted and lacks a device with all labels that it has had up to the
allocation, and with all versions of the device. A selector is wrong if it differs from each that
follows from versions of the devices, for the nodes that there were, for one without labels, and for
nodes that differ from those by their name or one label.

Selectors are compared by what they admit, not by how they are written: on each node that there was,
and on imagined ones that differ from it by one label or by the name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.checks.devices import allocation_judging, allocations, device_catalogue, node_selectors
from harness.checks.observed import observations

OTHER = "(another one)"
"""Name of a node that there is not, and the value of a label that there is not."""
_Versions = Sequence[device_catalogue.KnownDevice]
_Node = tuple[str, Mapping[str, str]]
"""Name and labels of a node."""


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Wrong | None:
    selector = grant.allocation.node_selector
    devices = [allocation_judging.known(result.id, catalogue, version) for result in grant.results]
    try:
        nodes = list(_admitted(selector, catalogue, version))
        if not nodes:
            return allocation_judging.Wrong("its node selector admits no node that there was")
        lacking = {name: _lacking(name, labels, devices) for name, labels in nodes}
        wrong = [
            f"its node selector admits node {name}, from which {', '.join(missing)} cannot be "
            "reached"
            for name, missing in lacking.items()
            if missing
        ]
        if wrong:
            return allocation_judging.Wrong("; ".join(wrong[:3]), weight=len(wrong))
        return _judge_selector(selector, devices, catalogue, version)
    except node_selectors.UnknownSelectorError as error:
        raise allocation_judging.Unjudged(str(error)) from error


def _admitted(
    selector: object, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> Iterator[tuple[str, list[node_selectors.Labels]]]:
    names = node_selectors.only_names(selector)
    for name in catalogue.nodes if names is None else sorted(names):
        known = catalogue.nodes(name, version)
        labels = [item for item in known if node_selectors.admits(selector, name, item)]
        if labels:
            yield name, labels


def _lacking(
    name: str, labels: Iterable[node_selectors.Labels], devices: Sequence[_Versions]
) -> list[str]:
    return [
        str(versions[0].device.name)
        for versions in devices
        if not any(known.place.reaches(name, item) for known in versions for item in labels)
    ]


def _judge_selector(
    selector: Any,
    devices: Sequence[_Versions],
    catalogue: device_catalogue.DeviceCatalogue,
    version: int,
) -> allocation_judging.Wrong | None:
    """Return what is wrong with the selector of an allocation; None: nothing.

    `devices` are those of the allocation, each in its versions.
    """
    labels = [known for name in catalogue.nodes for known in catalogue.nodes(name, version)]
    problem = ""
    for chosen in allocation_judging.combined(devices):
        problem = _problem(selector, chosen, labels)
        if not problem:
            return None
    return allocation_judging.Wrong(f"its node selector {problem}")


def _problem(selector: Any, devices: _Versions, labels: Sequence[Mapping[str, str]]) -> str:
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
    terms = [term for one in selectors if one for term in one.get("nodeSelectorTerms") or ()]
    expressions = [item for term in terms for item in term.get("matchExpressions") or ()]
    fields = [item for term in terms for item in term.get("matchFields") or ()]
    keys = sorted({item["key"] for item in expressions})
    names = sorted({value for item in fields for value in item.get("values") or ()})
    relevant = {tuple((key, known[key]) for key in keys if key in known): None for known in labels}
    for name in (OTHER, *names):
        for pairs in (*relevant, ()):
            yield from ((name, changed) for changed in _changed(dict(pairs), keys))


def _changed(known: Mapping[str, str], keys: Sequence[str]) -> Iterator[Mapping[str, str]]:
    yield known
    for key in keys:
        yield {**known, key: OTHER}
        yield {name: value for name, value in known.items() if name != key}


def _told(name: str, labels: Mapping[str, str]) -> str:
    words = "another node" if name == OTHER else f"node {name}"
    listed = ", ".join(f"{key}={value}" for key, value in labels.items())
    return f"{words} with {listed}" if listed else words


CHECK = allocation_judging.of_each(
    name="reachable_devices",
    guarantee="N",
    promise="an allocation admits the nodes from which all of its devices can be reached, no others",
    good="all devices can be reached from the nodes that their allocations admit",
    rests_on=(observations.SLICES, observations.NODES),
    ask=_ask,
)

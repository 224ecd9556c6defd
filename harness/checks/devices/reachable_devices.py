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
"""

from collections.abc import Iterable, Iterator, Sequence

from harness.checks.devices import (
    allocation_judging,
    allocations,
    derived_selectors,
    device_catalogue,
    node_selectors,
)
from harness.checks.observed import observations

_Devices = Sequence[Sequence[device_catalogue.KnownDevice]]
"""The devices of an allocation, each in its versions."""


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Answer:
    selector = grant.allocation.node_selector
    devices = [catalogue.devices(result.id, version) for result in grant.results]
    if not all(devices):
        return allocation_judging.UNKNOWN_DEVICE
    try:
        nodes = list(_admitted(selector, catalogue, version))
        lacking = {name: _lacking(name, labels, devices) for name, labels in nodes}
        if nodes and not any(lacking.values()):
            return derived_selectors.judge(selector, devices, catalogue, version)
    except node_selectors.UnknownSelectorError as error:
        return allocation_judging.Unjudged(str(error))
    if not nodes:
        return allocation_judging.Wrong("its node selector admits no node that there was")
    wrong = {name: missing for name, missing in lacking.items() if missing}
    texts = [
        f"its node selector admits node {name}, from which {', '.join(missing)} cannot be reached"
        for name, missing in wrong.items()
    ]
    return allocation_judging.Wrong("; ".join(texts[:3]), weight=len(wrong))


def _admitted(
    selector: object, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> Iterator[tuple[str, list[node_selectors.Labels]]]:
    """Yield the nodes that a selector admits, each with the labels with which it does."""
    names = node_selectors.only_names(selector)
    for name in catalogue.node_names() if names is None else sorted(names):
        known = catalogue.nodes(name, version)
        labels = [item for item in known if node_selectors.admits(selector, name, item)]
        if labels:
            yield name, labels


def _lacking(name: str, labels: Iterable[node_selectors.Labels], devices: _Devices) -> list[str]:
    """Return the devices that a node reaches with none of its labels."""
    return [
        str(versions[0].device.name)
        for versions in devices
        if not any(known.place.reaches(name, item) for known in versions for item in labels)
    ]


CHECK = allocation_judging.of_each(
    name="reachable_devices",
    guarantee="N",
    promise="an allocation admits the nodes from which all of its devices can be reached, no others",
    good="all devices can be reached from the nodes that their allocations admit",
    rests_on=(observations.SLICES, observations.NODES),
    ask=_ask,
)

"""The checks of existence and places: a device is there, and reached from the admitted nodes.

The API promises (resource.k8s.io/v1, ResourcePool.generation): "Consumers of ResourceSlices should
only consider resources from the pool with the highest generation number", and that consumers can
detect pools "in an incomplete state" by the number of their slices (resourceSliceCount). A
scheduler sees slices late, so a device may rightly be allocated for a while after it was withdrawn
or its generation was replaced. It is wrong if it could not be allocated in any version that the
scheduler could have seen: from the version that its slice tracker had certainly dealt with when the
attempt began, which the steps of a Python scheduler show, or else from the version that there was
`LAG_S` before, up to the allocation. In runs with faults a scheduler may lag by any time; there
only a device that no slice has ever listed is wrong.

"NodeSelector defines where the allocated resources are available. If unset, they are available
everywhere" (AllocationResult.nodeSelector). So every node that it admits must reach every device,
it must admit a node, and all nodes that reach every device, also those that may come. If one of the
devices is on one node only, that node is admitted, whatever its labels; if one is bound to the node
that was chosen (bindsToNode), one node is admitted. A node is wrong if it is admitted and lacks a
device with all labels that it has had up to the allocation, and with all versions of the device.

Selectors are compared by what they admit, not by how they are written: on each node that there was,
and on imagined ones that differ from it by one label or by the name. A selector is wrong if it
differs there from each that follows from versions of the devices.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.checks import protocol
from harness.checks.devices import allocation_judging, device_catalogue, device_timelines
from harness.checks.observed import observations

LAG_S = 60.0
"""Seconds by which a scheduler without faults may lag; attempts are thousands of times faster."""


def _existence(evidence: protocol.Evidence) -> allocation_judging.Answers:
    return _Judge(
        evidence[allocation_judging.Allocations],
        evidence[device_timelines.PoolTimelines],
        evidence[device_timelines.AttemptViews],
        bool(evidence.plan.faults),
    ).answers()


EXISTING_DEVICES = allocation_judging.of_each(
    name="existing_devices",
    guarantee="N",
    promise="every allocated device is in the newest generation of a complete and valid pool",
    good="all devices were there",
    rests_on=(observations.SLICES,),
    needs=(device_timelines.PoolTimelines, device_timelines.AttemptViews),
    answers=_existence,
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Judge:
    """Judges each allocation with what its scheduler could have seen."""

    allocations: allocation_judging.Allocations
    timelines: device_timelines.PoolTimelines
    views: device_timelines.AttemptViews
    may_lag_forever: bool

    def answers(self) -> allocation_judging.Answers:
        """Return the answers about all allocations; only those in doubt are looked at."""
        sure = np.array(
            [self._sure_since(grant) for grant in self.allocations.grants], dtype=np.float64
        )
        numbers = self.allocations.numbers
        rows = np.flatnonzero(self.allocations.versions <= sure[numbers])
        all_good = allocation_judging.Answers([None], np.zeros(len(numbers), dtype=np.int64))
        return all_good.replaced(rows, self._answer)

    def _sure_since(self, grant: allocation_judging.Grant) -> float:
        """Return the version since which all devices are there, up to the end; infinite: never."""
        last = [self.timelines.spans(result.id)[-1:] for result in grant.results]
        sure = [span[0].since if span and span[0].until == math.inf else math.inf for span in last]
        return max(sure, default=0.0)

    def _answer(self, row: int) -> allocation_judging.Answer:
        results = self.allocations.grant(row).results
        wrong = [result.id for result in results if not self._could_be_there(result.id, row)]
        if not wrong:
            return None
        seen = self.views.slices_of(self.allocations.claims[row].uid)
        since = f" from version {seen} of the slices on" if seen else ""
        return allocation_judging.Wrong(
            f"{', '.join(dict.fromkeys(wrong))} could not be allocated in any version that the "
            f"scheduler could have seen{since}",
            weight=len(wrong),
        )

    def _could_be_there(self, device: str, row: int) -> bool:
        version = self.allocations.versions[row]
        if self.may_lag_forever:
            return bool(self.allocations.catalogue.devices(device, version))
        seen = self.views.slices_of(self.allocations.claims[row].uid)
        until_ns = self.allocations.times_ns[row] - int(LAG_S * 1e9)
        return any(
            span.since < version and span.until > seen and span.until_ns >= until_ns
            for span in self.timelines.spans(device)
        )


# -------------------------------------------------------------------------------- places
OTHER = "(another one)"
"""Name of a node that there is not, and the value of a label that there is not."""
_Versions = Sequence[device_catalogue.KnownDevice]
_Node = tuple[str, Mapping[str, str]]
"""Name and labels of a node."""


def _ask(case: allocation_judging.Case) -> allocation_judging.Wrong | None:
    devices = [case.known(result.id) for result in case.grant.results]
    try:
        nodes = list(_admitted(case))
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
        return _judge_selector(case, devices)
    except device_catalogue.UnknownSelectorError as error:
        raise allocation_judging.Unjudged(str(error)) from error


def _admitted(case: allocation_judging.Case) -> Iterator[tuple[str, list[device_catalogue.Labels]]]:
    selector, nodes = case.grant.allocation.node_selector, case.catalogue.nodes
    names = device_catalogue.only_names(selector)
    for name in nodes if names is None else sorted(names):
        known = nodes(name, case.version)
        labels = [item for item in known if device_catalogue.admits(selector, name, item)]
        if labels:
            yield name, labels


def _lacking(
    name: str, labels: Iterable[device_catalogue.Labels], devices: Sequence[_Versions]
) -> list[str]:
    return [
        str(versions[0].device.name)
        for versions in devices
        if not any(known.place.reaches(name, item) for known in versions for item in labels)
    ]


def _judge_selector(
    case: allocation_judging.Case, devices: Sequence[_Versions]
) -> allocation_judging.Wrong | None:
    """Return what is wrong with the selector of an allocation; None: nothing.

    `devices` are those of the allocation, each in its versions.
    """
    selector, nodes = case.grant.allocation.node_selector, case.catalogue.nodes
    labels = [known for name in nodes for known in nodes(name, case.version)]
    problem = ""
    for chosen in allocation_judging.combined(devices):
        problem = _problem(selector, chosen, labels)
        if not problem:
            return None
    return allocation_judging.Wrong(f"its node selector {problem}")


def _problem(selector: Any, devices: _Versions, labels: Sequence[Mapping[str, str]]) -> str:
    local = {item.place.node_name for item in devices if item.place.node_name}
    if local or any(item.device.binds_to_node for item in devices):
        return _of_one_node(selector, local)
    selectors = [selector, *(item.place.node_selector for item in devices)]
    for name, known in _probes(selectors, labels):
        is_reached = all(item.place.reaches(name, known) for item in devices)
        if device_catalogue.admits(selector, name, known) is not is_reached:
            verb = "does not admit" if is_reached else "admits"
            reach = "can" if is_reached else "cannot"
            return f"{verb} {_told(name, known)}, from which all its devices {reach} be reached"
    return ""


def _of_one_node(selector: Any, local: set[str]) -> str:
    """Return what is wrong with the selector of devices that can be used on one node only.

    A selector that finds the node of a local device by its labels is not judged here.
    """
    names = device_catalogue.only_names(selector)
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


REACHABLE_DEVICES = allocation_judging.of_each(
    name="reachable_devices",
    guarantee="N",
    promise="an allocation admits the nodes from which all of its devices can be reached, no others",
    good="all devices can be reached from the nodes that their allocations admit",
    rests_on=(observations.SLICES, observations.NODES),
    answers=allocation_judging.asking(_ask),
)

"""Structured allocation: a first-fit search with backtracking for the devices of a pod's claims.

After k8s.io/dynamic-resource-allocation/structured. Supported are exact counts, all devices, admin
access, alternatives (`firstAvailable`) and `matchAttribute`. One Allocator serves one scheduling
attempt. Each search keeps its own choices, so that searches on different nodes are independent.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from harness import errors
from harness.subject import inventories, nodes

Object = dict[str, Any]
DEVICES_PER_CLAIM_MAX = 32
"""The API's limit for the results of one claim (`AllocationResultsMaxSize`)."""


class AllocationError(errors.HarnessError):
    """A claim that cannot be allocated on any node; the scheduling attempt ends."""


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """One way to satisfy a request."""

    name: str
    """`request` or `request/subrequest`."""
    count: int | None
    """Number of devices; None: all matching devices."""
    selectors: tuple[str, ...]
    admin_access: bool


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A request of one of the claims, with its alternatives in order of preference."""

    claim: int
    """Index of the claim in the list of claims to allocate."""
    options: tuple[Option, ...]
    constraints: tuple[Object, ...]


class Allocator:
    """Allocates devices that are not in use."""

    def __init__(
        self,
        snapshot: inventories.Snapshot,
        in_use: set[str],
        classes: Mapping[str, Object],
        claims: Sequence[Object],
    ) -> None:
        """Resolve the requests of the claims; `classes` maps names to DeviceClasses.

        Raises AllocationError for a claim that cannot be allocated on any node.
        """
        self._snapshot, self._in_use, self._claims = snapshot, in_use, claims
        self._requests = [
            request
            for index, claim in enumerate(claims)
            for request in _requests(index, claim["spec"].get("devices") or {}, classes)
        ]
        for index in range(len(claims)):
            _require_few([item for item in self._requests if item.claim == index])

    def allocate(self, node: Object) -> list[Object] | None:
        """Return one AllocationResult per claim, or None if the node cannot satisfy all claims.

        Raises SelectorError for a selector that does not compile or fails on a device.
        """
        search = _Search(self._snapshot, self._in_use, self._requests, node)
        if not search.run():
            return None
        return [
            _result(claim, [item for item in search.chosen if item.request.claim == index], node)
            for index, claim in enumerate(self._claims)
        ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Choice:
    request: DeviceRequest
    option: Option
    device: inventories.Device


class _Search:
    """A depth-first search on one node."""

    def __init__(
        self,
        snapshot: inventories.Snapshot,
        in_use: set[str],
        requests: Sequence[DeviceRequest],
        node: Object,
    ) -> None:
        self._snapshot, self._in_use, self._requests, self._node = snapshot, in_use, requests, node
        self.chosen: list[_Choice] = []
        self._taken: set[str] = set()

    def run(self) -> bool:
        return self._satisfy(0)

    def _satisfy(self, index: int) -> bool:
        """Satisfy the request at `index` and all requests after it."""
        if index == len(self._requests):
            return True
        request = self._requests[index]
        return any(self._try(index, request, option) for option in request.options)

    def _try(self, index: int, request: DeviceRequest, option: Option) -> bool:
        candidates = self._snapshot.matching(self._node, option.selectors)
        needed = len(candidates) if option.count is None else option.count
        if not needed or needed + len(self._mine(request.claim)) > DEVICES_PER_CLAIM_MAX:
            return False
        return self._pick(index, request, option, candidates, 0, needed)

    def _mine(self, claim: int) -> list[_Choice]:
        """Return the choices made so far for the claim at index `claim`."""
        return [item for item in self.chosen if item.request.claim == claim]

    def _pick(
        self,
        index: int,
        request: DeviceRequest,
        option: Option,
        candidates: Sequence[inventories.Device],
        start: int,
        needed: int,
    ) -> bool:
        """Choose `needed` candidates from `start` on, then satisfy the remaining requests."""
        if needed == 0:
            return self._satisfy(index + 1)
        for position in range(start, len(candidates) - needed + 1):
            choice = _Choice(request, option, candidates[position])
            if not self._is_possible(choice):
                continue
            self._choose(choice)
            if self._pick(index, request, option, candidates, position + 1, needed - 1):
                return True
            self._undo(choice)
            is_last = index + 1 == len(self._requests)
            if is_last and not request.constraints:
                return False  # no later request depends on the choice: any other device fails too
        return False

    def _is_possible(self, choice: _Choice) -> bool:
        device, mine = choice.device, self._mine(choice.request.claim)
        if choice.option.admin_access:
            if any(item.device.id == device.id for item in mine):
                return False
        elif device.id in self._in_use or device.id in self._taken:
            return False
        return all(_agrees(constraint, choice, mine) for constraint in choice.request.constraints)

    def _choose(self, choice: _Choice) -> None:
        self.chosen.append(choice)
        if not choice.option.admin_access:
            self._taken.add(choice.device.id)

    def _undo(self, choice: _Choice) -> None:
        self.chosen.pop()
        if not choice.option.admin_access:
            self._taken.discard(choice.device.id)


def _agrees(constraint: Object, choice: _Choice, others: Sequence[_Choice]) -> bool:
    """Return whether the device has the attribute value of the constraint's other devices."""
    if not _covers(constraint, choice.option):
        return True
    value = choice.device.attribute(constraint["matchAttribute"])
    return value is not None and all(
        other.device.attribute(constraint["matchAttribute"]) == value
        for other in others
        if _covers(constraint, other.option)
    )


def _covers(constraint: Object, option: Option) -> bool:
    names = constraint.get("requests")
    return not names or option.name in names or option.name.partition("/")[0] in names


def _requests(index: int, devices: Object, classes: Mapping[str, Object]) -> list[DeviceRequest]:
    constraints = tuple(devices.get("constraints") or ())
    for constraint in constraints:
        if "matchAttribute" not in constraint:
            raise AllocationError(f"constraint not supported: {sorted(constraint)}")
    requests = devices.get("requests") or ()
    return [DeviceRequest(index, _options(request, classes), constraints) for request in requests]


def _require_few(requests: Sequence[DeviceRequest]) -> None:
    """Raise AllocationError for a claim that needs too many devices.

    No search for such a claim can succeed, and it would take long to find that out.
    """
    least = sum(min(option.count or 1 for option in request.options) for request in requests)
    if least > DEVICES_PER_CLAIM_MAX:
        raise AllocationError(
            f"expected a claim for at most {DEVICES_PER_CLAIM_MAX} devices, got one for {least} devices"
        )


def _options(request: Object, classes: Mapping[str, Object]) -> tuple[Option, ...]:
    name = request["name"]
    if exactly := request.get("exactly"):
        return (_option(name, exactly, classes),)
    return tuple(
        _option(f"{name}/{sub['name']}", sub, classes) for sub in request["firstAvailable"]
    )


def _option(name: str, spec: Object, classes: Mapping[str, Object]) -> Option:
    device_class = classes.get(spec["deviceClassName"])
    if device_class is None:
        raise AllocationError(f"request {name}: device class {spec['deviceClassName']} not found")
    class_selectors = device_class["spec"].get("selectors") or ()
    selectors = [*class_selectors, *(spec.get("selectors") or ())]
    is_all = spec.get("allocationMode", "ExactCount") == "All"
    return Option(
        name=name,
        count=None if is_all else int(spec.get("count") or 1),
        selectors=tuple(item["cel"]["expression"] for item in selectors),
        admin_access=bool(spec.get("adminAccess")),
    )


def _result(claim: Object, choices: Sequence[_Choice], node: Object) -> Object:
    results = [_device_result(choice) for choice in choices]
    allocation: Object = {"devices": {"results": results}}
    config = (claim["spec"].get("devices") or {}).get("config")
    if config:
        allocation["devices"]["config"] = [{**item, "source": "FromClaim"} for item in config]
    if any(choice.device.is_node_local for choice in choices):
        allocation["nodeSelector"] = nodes.only(node["metadata"]["name"])
    return allocation


def _device_result(choice: _Choice) -> Object:
    device = choice.device
    result: Object = {
        "request": choice.option.name,
        "driver": device.driver,
        "pool": device.pool,
        "device": device.name,
    }
    return {**result, "adminAccess": True} if choice.option.admin_access else result

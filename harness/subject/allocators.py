"""Structured allocation: which devices to give to the claims of a pod on a node. First fit, with backtracking.

After k8s.io/dynamic-resource-allocation/structured: exact counts, all devices, admin access,
alternatives (`firstAvailable`) and `matchAttribute`. One Allocator serves one scheduling attempt; what is chosen during a
search lives in the search, so that searches of several nodes cannot disturb each other.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from harness import errors
from harness.subject import inventories, nodes

Object = dict[str, Any]
DEVICES_PER_CLAIM_MAX = 32


class AllocationError(errors.HarnessError):
    """A claim that no node can satisfy as it is written: the attempt ends."""


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """One way to satisfy a request."""

    name: str
    """`request`, or `request/subrequest`."""
    count: int | None
    """None: all matching devices."""
    selectors: tuple[str, ...]
    admin_access: bool


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A request of one of the claims, with its alternatives in order of preference."""

    claim: int
    """Index among the claims to allocate."""
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
        """`classes` by name. AllocationError for a claim that cannot be satisfied anywhere."""
        self._snapshot, self._in_use, self._claims = snapshot, in_use, claims
        self._requests = [
            request
            for index, claim in enumerate(claims)
            for request in _requests(index, claim["spec"].get("devices") or {}, classes)
        ]
        for index in range(len(claims)):
            _require_few([item for item in self._requests if item.claim == index])

    def allocate(self, node: Object) -> list[Object] | None:
        """An AllocationResult for each claim, None when the node cannot satisfy them all; SelectorError."""
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
    """One depth-first search on one node."""

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
        """Satisfy this request and all after it."""
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
        """What is chosen for the claim so far."""
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
        """Choose `needed` more of the candidates from `start` on, then satisfy the other requests."""
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
            if not request.constraints and not self._has_alternatives(index):
                return False  # devices are alike to what follows: another one would fail as well
        return False

    def _has_alternatives(self, index: int) -> bool:
        """Whether requests are left whose fate may depend on which device is taken here."""
        return index + 1 < len(self._requests)

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
    """Whether the device has the same value of the attribute as the others that the constraint covers."""
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
    """AllocationError when a claim asks for too much: no search could end well, and a long one would be made."""
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

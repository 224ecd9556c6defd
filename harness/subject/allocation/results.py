"""AllocationResults: chosen devices, configuration, and the nodes on which they can be used."""

import dataclasses
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.model.objects import Object
from harness.subject.allocation import device_requests, devices
from harness.subject.objects import nodes, quantities

_SHARES = uuid.UUID("8d2c4b0e-0f2a-5d61-9a51-3f0a8f6a4c11")
"""Namespace of the share IDs."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A device chosen for a request."""

    claim: int
    """Index of the claim."""
    option: device_requests.Option
    device: devices.Device
    consumed: Mapping[str, quantities.Quantity] | None
    """The consumption of the share; None: the claim has the device for itself."""


def result(
    claim: Object, choices: Sequence[Choice], node: Object, config: Sequence[Object]
) -> Object:
    """Return the AllocationResult of a claim; `config` is the claim's own (`claim_config`)."""
    rows = [_row(claim, index, choice) for index, choice in enumerate(choices)]
    allocation: Object = {"devices": {"results": rows}}
    if config := [*_class_config(choices), *config]:
        allocation["devices"]["config"] = config
    if selector := _node_selector([choice.device for choice in choices], node):
        allocation["nodeSelector"] = selector
    return allocation


def preference(claims: Sequence[Object], allocations: Sequence[Object]) -> int:
    """Return how much better alternatives were chosen: more for each that comes earlier.

    After Score of the DynamicResources plugin. Requests without alternatives count nothing; nor
    does a further allocation, which is that of the claim for extended resources.
    """
    return sum(
        device_requests.SUBREQUESTS_MAX - rank
        for claim, allocation in zip(claims, allocations, strict=False)
        for rank in _chosen_ranks(claim, allocation)
    )


def _chosen_ranks(claim: Object, allocation: Object) -> Iterator[int]:
    names = {row["request"] for row in allocation["devices"].get("results") or ()}
    for request in (claim["spec"].get("devices") or {}).get("requests") or ():
        for rank, sub in enumerate(request.get("firstAvailable") or ()):
            if f"{request['name']}/{sub['name']}" in names:
                yield rank


def _row(claim: Object, index: int, choice: Choice) -> Object:
    option, device = choice.option, choice.device
    row: Object = {
        "request": option.name,
        "driver": device.pool[0],
        "pool": device.pool[1],
        "device": device.name,
    }
    if option.admin_access:
        row["adminAccess"] = True
    if option.tolerations:
        row["tolerations"] = list(option.tolerations)
    for key in ("bindingConditions", "bindingFailureConditions"):
        if device.document.get(key):
            row[key] = device.document[key]
    return row if choice.consumed is None else row | _share(claim, index, choice.consumed)


def _share(claim: Object, index: int, consumed: Mapping[str, quantities.Quantity]) -> Object:
    """Return ID and consumption of a share.

    The ID is made from the claim's version, so that it is another one each time the claim is
    allocated, but the same when a run is repeated with the same choices.
    """
    meta = claim["metadata"]
    version = f"{meta.get('uid', meta['name'])}/{meta.get('resourceVersion')}/{index}"
    made: Object = {"shareID": str(uuid.uuid5(_SHARES, version))}
    if consumed:
        made["consumedCapacity"] = {name: taken.text for name, taken in consumed.items()}
    return made


def _class_config(choices: Sequence[Choice]) -> Iterator[Object]:
    """Yield the configuration of each class once, with the requests that it is for."""
    users: dict[str, list[str]] = {}
    classes: dict[str, Object] = {}
    for choice in choices:
        device_class = choice.option.device_class
        classes[device_class["metadata"]["name"]] = device_class
        names = users.setdefault(device_class["metadata"]["name"], [])
        if choice.option.name not in names:
            names.append(choice.option.name)
    for name, device_class in classes.items():
        for item in device_class["spec"].get("config") or ():
            yield {"source": "FromClass", "requests": users[name], **item}


def claim_config(claim: Object, choices: Sequence[Choice]) -> Iterator[Object]:
    """Yield the claim's configuration, without that for alternatives that were not chosen."""
    for item in (claim["spec"].get("devices") or {}).get("config") or ():
        if not item.get("requests") or users_of(item, choices):
            yield {"source": "FromClaim", **item}


def users_of(config: Object, choices: Sequence[Choice]) -> list[str]:
    """Return the requests, with devices, that a configuration names, or an alternative of them."""
    named = set(config.get("requests") or ())
    chosen = {item.option.request: item.option.name for item in choices}
    return [name for name, option in chosen.items() if not named.isdisjoint((name, option))]


def _node_selector(chosen: Iterable[devices.Device], node: Object) -> Object | None:
    term: Object = {}
    for device in chosen:
        if device.place.get("nodeName") or device.document.get("bindsToNode"):
            return nodes.only(node["metadata"]["name"])
        selector = device.place.get("nodeSelector") or {}
        for required in selector.get("nodeSelectorTerms") or ():
            for key in ("matchExpressions", "matchFields"):
                _add_new(term.setdefault(key, []), required.get(key) or ())
    term = {key: listed for key, listed in term.items() if listed}
    return {"nodeSelectorTerms": [term]} if term else None


def _add_new(requirements: list[Object], more: Iterable[Object]) -> None:
    known = {_identity(item) for item in requirements}
    for item in more:
        if _identity(item) not in known:
            known.add(_identity(item))
            requirements.append(item)


def _identity(requirement: Object) -> tuple[str, str, frozenset[str]]:
    values = frozenset(requirement.get("values") or ())
    return requirement["key"], requirement["operator"], values

"""The devices that the slices offer, and which of them a waiting pod could have.

An observer does not evaluate selectors and knows no node. A device counts only if the plan or an
earlier allocation shows that it satisfies the request; any other device is a doubt.
"""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.checks import live_spotter
from harness.checks.observed import observed_claims, observed_slices
from harness.checks.progress import world_states
from harness.model import devices


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """Devices that a pod needs on one node."""

    kind: tuple[str, ...]
    """See `observed_claims.ExactRequest.kind`."""
    count: int
    admin: bool
    """True: a device in use will do."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Device:
    id: str
    node: str
    """Empty: an observer cannot tell on which nodes it may be used."""
    driver: str
    owner: str
    """Its attribute `owner`; empty: none."""


class DeviceSupply:
    """The devices of complete pools of the newest generation, by node; some are taken."""

    def __init__(self, state: world_states.WorldState, settings: Mapping[str, Any]) -> None:
        """`settings` of the plan say what the class of the run's claims selects."""
        self._granted = state.granted
        self._pools = settings.get("pools") or {}
        are_clear = not state.taint_rules
        self._all = _by_node(_offered(state.slices.values(), are_clear=are_clear))
        self._node_of = {item.id: node for node, items in self._all.items() for item in items}
        held = _held(state.claims.values())
        self._idle = _by_node(
            item for items in self._all.values() for item in items if item.id not in held
        )

    def node_of(self, device: str) -> str | None:
        """Return the node of a device; empty: not one node, None: no slice offers it."""
        return self._node_of.get(device)

    def find(self, need: Need, nodes: Iterable[str] | None = None) -> tuple[str, list[str]] | None:
        """Return a node and enough devices on it that satisfy the need, or None.

        `nodes` None: any node.
        """
        among = self._among(need)
        for node in among if nodes is None else nodes:
            if not node or len(among.get(node, ())) < need.count:
                continue
            fitting = [item.id for item in among[node] if self._fits(need, item)]
            if len(fitting) >= need.count:
                return node, fitting[: need.count]
        return None

    def take(self, node: str, taken: Iterable[str]) -> None:
        """Make devices of a node unavailable."""
        gone = set(taken)
        left = [item for item in self._idle.pop(node, ()) if item.id not in gone]
        if left:
            self._idle[node] = left

    def has_doubtful(self, need: Need) -> bool:
        """Return whether some free device may satisfy the need, which an observer cannot know."""
        return any(
            self._fits(need, item) is None or (not node and self._fits(need, item))
            for node, items in self._among(need).items()
            for item in items
        )

    def _among(self, need: Need) -> dict[str, list[_Device]]:
        """Return the devices that no claim holds; with admin access, all of them."""
        return self._all if need.admin else self._idle

    def _fits(self, need: Need, item: _Device) -> bool | None:
        """Return whether a device satisfies a need; None: unknown."""
        class_name, *selectors = need.kind
        offered_class = self._pools.get("device_class") or {}
        if (need.kind, item.id) in self._granted:
            return True
        if class_name != offered_class.get("name"):
            return None
        owner = self._pools.get("owner")
        if item.driver != self._pools.get("driver") or (owner and item.owner != owner):
            return False
        return None if selectors or offered_class.get("selectors") else True


def _by_node(offered: Iterable[_Device]) -> dict[str, list[_Device]]:
    nodes: dict[str, list[_Device]] = collections.defaultdict(list)
    for item in offered:
        nodes[item.node].append(item)
    return dict(nodes)


def _held(claims: Iterable[observed_claims.Claim]) -> set[str]:
    """Return the devices of all allocations except those with admin access."""
    return {result.id for claim in claims for result in claim.results if not result.admin_access}


def exclusive(claim: observed_claims.Claim) -> list[str]:
    """Return `driver/pool/device` of the devices that a claim holds alone."""
    return [
        item.id
        for item in claim.results
        if live_spotter.is_exclusive(admin=item.admin_access, share=item.share)
    ]


def _offered(slices: Iterable[observed_slices.Slice], *, are_clear: bool) -> Iterator[_Device]:
    """Yield the devices; with DeviceTaintRules it is not clear which may be allocated."""
    pools: dict[tuple[str, str], list[observed_slices.Slice]] = collections.defaultdict(list)
    for piece in sorted(slices, key=lambda piece: piece.metadata.name):
        pools[piece.spec.driver, piece.spec.pool.name].append(piece)
    for pieces in pools.values():
        newest = max(piece.spec.pool.generation for piece in pieces)
        current = [piece.spec for piece in pieces if piece.spec.pool.generation == newest]
        if len(current) == current[0].pool.resource_slice_count:
            for spec in current:
                yield from _devices(spec, are_clear=are_clear)


def _devices(spec: observed_slices.SliceSpec, *, are_clear: bool) -> Iterator[_Device]:
    is_plain = are_clear and not spec.shared_counters and not spec.per_device_node_selection
    for device in spec.devices or ():
        owner = (device.attributes or {}).get("owner") or {}
        yield _Device(
            id=str(devices.DeviceID(spec.driver, spec.pool.name, device.name)),
            node=spec.node_name if is_plain and not _is_unclear(device) else "",
            driver=spec.driver,
            owner=owner.get("string", ""),
        )


def _is_unclear(device: observed_slices.Device) -> bool:
    """Return whether an observer cannot know if the device may be allocated."""
    unclear = (
        device.taints,
        device.consumes_counters,
        device.allow_multiple_allocations,
        device.binding_conditions,
    )
    return any(unclear)

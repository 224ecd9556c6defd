"""The devices that the slices offer at one time, what is left of them, and on which nodes they are.

A device is left for a claim if no claim has it for itself; of a device that can be shared, what the
shares of claims leave of its capacities. A device in use consumes the counters of its pool once,
however many claims share it. Only complete pools of the newest generation offer devices.

Kept apart is the part that an observer cannot know: if a device with binding conditions will do,
and where devices are if the nodes were not observed. While a claim holds a device that has left its
slices, no counters of its pool are left.
"""

import collections
import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import msgspec

from harness.checks.devices import capacities, device_catalogue, device_timelines
from harness.checks.observed import observed_claims, observed_cluster
from harness.checks.progress import world_states
from harness.model import devices, quantities

CounterKey = device_catalogue.CounterKey
PoolKey: TypeAlias = tuple[str, str]
"""Driver and name of a pool."""
Amounts: TypeAlias = dict[str, Fraction]
"""Capacity, without the domain of its driver -> an amount of it."""
_Pools: TypeAlias = Mapping[PoolKey, Sequence[observed_cluster.SliceSpec]]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Offered:
    """A device that a slice offers."""

    id: str
    pool: PoolKey
    known: device_catalogue.KnownDevice
    taints: tuple[observed_cluster.Taint, ...]
    """Those that keep it from being allocated, of its slice and of rules."""
    content: bytes
    """The same for devices that are alike, whatever their names."""

    @property
    def is_shared(self) -> bool:
        return self.known.is_shareable

    @property
    def is_certain(self) -> bool:
        """True if nothing but the claims decides whether it can be allocated."""
        return not self.known.device.binding_conditions


class Left:
    """The rest of the counters of pools, of the capacities of shared devices, and of the others.

    A search takes devices and gives them back.
    """

    def __init__(self, pools: _Pools, claims: Iterable[observed_claims.Claim]) -> None:
        self._pools = pools
        self._alone: set[str] = set()
        """`driver/pool/device` of those that a claim has for itself."""
        self._shares = collections.defaultdict[
            str, list[tuple[observed_claims.Claim, observed_claims.AllocationResult]]
        ](list)
        for claim in claims:
            self._alone.update(exclusive(claim))
            for item in claim.results:
                if item.share and not item.admin_access:
                    self._shares[item.id].append((claim, item))
        self._held = frozenset({*self._alone, *self._shares})
        self._charged = set(self._held)
        """The devices in use, which have consumed their counters; admin access is no use."""
        self._used: dict[str, list[Amounts]] = {}
        self._counters: dict[PoolKey, dict[CounterKey, Fraction]] = {}

    def is_free(self, item: Offered) -> bool:
        return item.id not in self._alone and (item.is_shared or item.id not in self._shares)

    def has_room(self, item: Offered, amounts: Amounts) -> bool:
        """Return whether counters and capacities suffice; no device consumes less than nothing."""
        wanted = item.known.counters
        if wanted and item.id not in self._charged:
            left = self._counters_of(item.pool)
            if any(not 0 <= amount <= left.get(key, -1) for key, amount in wanted.items()):
                return False
        if not item.is_shared:
            return True
        used, there = self._used_of(item), item.known.capacity
        return all(
            sum((taken.get(name, Fraction(0)) for taken in used), amount) <= there[name]
            for name, amount in amounts.items()
        )

    def take(self, item: Offered, amounts: Amounts) -> bool:
        """Take a device; return whether it is in use only since then, for `give_back`."""
        is_first = item.id not in self._charged
        if is_first:
            self._charged.add(item.id)
            self._charge(item, -1)
        if item.is_shared:
            self._used_of(item).append(amounts)
        else:
            self._alone.add(item.id)
        return is_first

    def give_back(self, item: Offered, *, was_first: bool) -> None:
        if item.is_shared:
            self._used_of(item).pop()
        else:
            self._alone.discard(item.id)
        if was_first:
            self._charged.discard(item.id)
            self._charge(item, 1)

    def is_charged(self, item: Offered) -> bool:
        return item.id in self._charged

    def _charge(self, item: Offered, sign: int) -> None:
        for key, amount in item.known.counters.items():
            self._counters_of(item.pool)[key] += sign * amount

    def _counters_of(self, pool: PoolKey) -> dict[CounterKey, Fraction]:
        if pool not in self._counters:
            self._counters[pool] = _counters_left(pool, self._pools[pool], self._held)
        return self._counters[pool]

    def _used_of(self, item: Offered) -> list[Amounts]:
        if item.id not in self._used:
            shares = self._shares.get(item.id, ())
            self._used[item.id] = [_consumed(item, *share) for share in shares]
        return self._used[item.id]


def exclusive(claim: observed_claims.Claim) -> list[str]:
    return [item.id for item in claim.results if item.is_exclusive]


def _counters_left(
    pool: PoolKey, specs: Sequence[observed_cluster.SliceSpec], held: Iterable[str]
) -> dict[CounterKey, Fraction]:
    """Return what devices in use leave of the counters of a pool.

    Nothing, if one of them has left the slices: its consumption is not known.
    """
    left = device_catalogue.amounts_of(
        (group.name, group) for spec in specs for group in spec.shared_counters or ()
    )
    listed = {
        str(devices.DeviceID(*pool, device.name)): device
        for spec in specs
        for device in spec.devices or ()
    }
    for name in held:
        if not name.startswith(f"{'/'.join(pool)}/"):
            continue
        if name not in listed:
            return dict.fromkeys(left, Fraction(0))
        groups = listed[name].consumes_counters or ()
        consumed = device_catalogue.amounts_of((group.counter_set, group) for group in groups)
        for key, amount in consumed.items():
            left[key] -= max(amount, Fraction(0))
    return left


def _consumed(
    item: Offered, claim: observed_claims.Claim, result: observed_claims.AllocationResult
) -> Amounts:
    """Return what a share consumes: as it says, or else as its request makes it."""
    driver = item.pool[0]
    written = capacities.by_plain_name(result.consumed_capacity or {}, driver)
    asked = claim.spec.devices.option(result.request)
    wanted = {} if asked is None else asked.quantities
    follows = capacities.of_device(item.known.device, driver, wanted)
    return {
        name: max(Fraction(0), quantities.amount(written[name]))
        if name in written
        else max(taken.amounts)
        for name, taken in follows.items()
    }


class DeviceSupply:
    """The devices that slices offer, and what is left of them."""

    def __init__(self, state: world_states.WorldState) -> None:
        self._state = state
        every = collections.defaultdict[PoolKey, list[observed_cluster.SliceSpec]](list)
        for piece in sorted(state.slices.values(), key=lambda piece: piece.metadata.name):
            every[piece.spec.driver, piece.spec.pool.name].append(piece.spec)
        newest = {key: _newest(specs) for key, specs in every.items()}
        self._pools = {key: specs for key, specs in newest.items() if specs}
        self._spoiled = [
            place
            for key, specs in every.items()
            if key not in self._pools
            for spec in specs
            for _, place in device_catalogue.placed(spec)
        ]
        """The places of the devices of pools that are not complete, or not valid."""

    @functools.cached_property
    def left(self) -> Left:
        """The rest that the claims leave, without what was taken since then."""
        return Left(self._pools, self._state.claims.values())

    @functools.cached_property
    def nodes(self) -> Mapping[str, device_catalogue.Labels | None]:
        """The nodes with their labels; None: only their names are known, from the slices."""
        if self._state.nodes is not None:
            return self._state.nodes
        return dict.fromkeys(sorted(filter(None, self._by_node)))

    def on_node(self, node: str) -> list[tuple[Offered, bool]]:
        """Return the devices that a node reaches, or may reach; True: it does.

        Without a name, the devices that are not those of one node: some node may reach them.
        """
        found = [(item, bool(node)) for item in self._by_node.get(node, ())]
        for item in self._by_node.get("", ()) if node else ():
            reached = self._reaches(item.known.place, node)
            if reached is not False:
                found.append((item, bool(reached)))
        return found

    @property
    def offered(self) -> Iterable[Offered]:
        return self._by_id.values()

    def is_spoiled(self, node: str) -> bool | None:
        """Return whether a pool of a node is not complete or not valid; None: that is not known."""
        answers = {self._reaches(place, node) for place in self._spoiled}
        return True if True in answers else None if None in answers else False

    def node_of(self, device: str) -> str | None:
        """Return the node of a device; empty: not one node, None: no slice offers it."""
        item = self._by_id.get(device)
        return None if item is None else item.known.place.node_name

    def _reaches(self, place: device_catalogue.Place, node: str) -> bool | None:
        labels = self.nodes.get(node)
        if labels is None and place.node_selector is not None:
            return None
        try:
            return place.reaches(node, labels or {})
        except device_catalogue.UnknownSelectorError:
            return None

    @functools.cached_property
    def _by_id(self) -> dict[str, Offered]:
        found = (
            self._item(key, device, place)
            for key, specs in self._pools.items()
            for spec in specs
            for device, place in device_catalogue.placed(spec)
        )
        return {item.id: item for item in found}

    @functools.cached_property
    def _by_node(self) -> dict[str, list[Offered]]:
        nodes = collections.defaultdict[str, list[Offered]](list)
        for item in self._by_id.values():
            nodes[item.known.place.node_name].append(item)
        return dict(nodes)

    def _item(
        self, pool: PoolKey, device: observed_cluster.Device, place: device_catalogue.Place
    ) -> Offered:
        name = devices.DeviceID(*pool, device.name)
        rules = [
            spec.taint
            for spec in self._state.taint_rules.values()
            if spec.device_selector is not None and spec.device_selector.selects(name)
        ]
        bare = msgspec.structs.replace(device, taints=None)
        taints = tuple(item for item in (*(device.taints or ()), *rules) if item.is_blocking)
        plain = msgspec.structs.replace(bare, name="")
        return Offered(
            id=str(name),
            pool=pool,
            known=device_catalogue.KnownDevice(pool[0], bare, place),
            taints=taints,
            content=msgspec.json.encode((pool[0], plain, taints)),
        )


def _newest(specs: Sequence[observed_cluster.SliceSpec]) -> list[observed_cluster.SliceSpec]:
    """Return the slices of the newest generation; empty unless they are complete and valid."""
    generation = max(spec.pool.generation for spec in specs)
    newest = [spec for spec in specs if spec.pool.generation == generation]
    is_complete = len(newest) == newest[0].pool.resource_slice_count
    return newest if is_complete and device_timelines.is_valid(newest) else []

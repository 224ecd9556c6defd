"""The devices that the slices offer, and which of them a waiting pod could have.

An observer does not evaluate selectors and knows no node. A device counts only if the plan or an
earlier allocation shows that it satisfies the request; any other device is a doubt. So are devices
of which claims have shares: whether there is room for another share is not computed. An idle device
that can be shared is like any other, and so is one whose counters suffice for it.

Partitions of one device share its counters: as long as one of them is in use, another one can be
allocated only if the counters suffice for both. A device in use consumes its counters once, however
many claims share it. While a device in use is not offered any more, no counters of its pool are
left, as far as an observer knows.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from harness.checks import world_states
from harness.checks.observed import claim_results, observed_claims, observed_slices
from harness.model import devices, quantities

CounterKey: TypeAlias = tuple[str, str]
"""Name of a counter set, and of a counter in it."""


def enough_by_device(
    current: Collection[observed_slices.SliceSpec], held: Collection[str]
) -> dict[str, bool | None]:
    """Return for each device that consumes counters whether they suffice for it.

    `current` are the slices of the newest generation of one pool, `held` the devices in use, as
    `driver/pool/device`. None: the slices do not declare its counters.
    """
    left, consumers = _left(current, held)
    return {name: _suffice(wanted, left) for name, wanted in consumers.items()}


def suffice(current: Collection[observed_slices.SliceSpec], held: Collection[str]) -> bool:
    """Return whether the counters of a pool suffice for these devices; see `enough_by_device`."""
    left, _ = _left(current, held)
    return all(amount >= 0 for amount in left.values())


def _left(
    current: Collection[observed_slices.SliceSpec], held: Collection[str]
) -> tuple[dict[CounterKey, Fraction], dict[str, dict[CounterKey, Fraction]]]:
    """Return what is left of the counters, and what each device of the pool consumes."""
    left = dict(_declared(current))
    consumers = dict(_consumers(current))
    if consumers and _have_lost_one(current, held):
        left = dict.fromkeys(left, Fraction(-1))
    for name in consumers.keys() & set(held):
        for key, amount in consumers[name].items():
            if key in left:
                left[key] -= amount
    return left, consumers


def _have_lost_one(current: Collection[observed_slices.SliceSpec], held: Collection[str]) -> bool:
    """Return whether a device in use has left the pool: what it consumes is not known any more."""
    [pool] = {(spec.driver, spec.pool.name) for spec in current}
    offered = {
        str(devices.DeviceID(*pool, item.name)) for spec in current for item in spec.devices or ()
    }
    mine = str(devices.DeviceID(*pool, ""))
    return any(
        name.startswith(mine) and "/" not in name[len(mine) :] and name not in offered
        for name in held
    )


def _suffice(wanted: dict[CounterKey, Fraction], left: dict[CounterKey, Fraction]) -> bool | None:
    if any(key not in left for key in wanted):
        return None
    return all(left[key] >= amount for key, amount in wanted.items())


def _declared(
    current: Iterable[observed_slices.SliceSpec],
) -> Iterator[tuple[CounterKey, Fraction]]:
    for spec in current:
        for group in spec.shared_counters or ():
            for name, amount in group.counters.items():
                yield (group.name, name), quantities.amount(amount.value)


def _consumers(
    current: Iterable[observed_slices.SliceSpec],
) -> Iterator[tuple[str, dict[CounterKey, Fraction]]]:
    for spec in current:
        for device in spec.devices or ():
            if device.consumes_counters:
                name = devices.DeviceID(spec.driver, spec.pool.name, device.name)
                yield str(name), _wanted(device)


def _wanted(device: observed_slices.Device) -> dict[CounterKey, Fraction]:
    wanted: collections.defaultdict[CounterKey, Fraction] = collections.defaultdict(Fraction)
    for group in device.consumes_counters or ():
        for name, amount in group.counters.items():
            wanted[group.counter_set, name] += quantities.amount(amount.value)
    return dict(wanted)


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """Devices that a pod needs on one node."""

    kind: tuple[str, ...]
    """See `observed_claims.ExactRequest.kind`."""
    count: int
    admin: bool
    """True: a device in use will do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Offered:
    """A device that a slice offers."""

    id: str
    node: str
    """Empty: an observer cannot know on which nodes it may be used."""
    driver: str
    owner: str
    """Its attribute `owner`; empty: none."""
    is_idle: bool
    """No claim has it for itself, and its counters suffice."""
    is_counted: bool
    """It consumes counters that other devices of its pool consume, too."""
    pool: str
    known: observed_slices.Device


class DeviceSupply:
    """The devices of complete pools of the newest generation, by node; some are taken."""

    def __init__(self, state: world_states.WorldState, settings: Mapping[str, Any]) -> None:
        """`settings` of the plan say what the class of the run's claims selects."""
        self._granted = state.granted
        self._pools = settings.get("pools") or {}
        are_clear = not state.taint_rules
        use = _Use(state.claims.values())
        self._held, self._current = use.held, _current(state.slices.values())
        self._all = _by_node(_offered(self._current.values(), use, are_clear=are_clear))
        self._node_of = {item.id: node for node, items in self._all.items() for item in items}
        self._idle = _by_node(
            item
            for node, items in self._all.items()
            for item in items
            if item.is_idle and (not node or state.nodes is None or node in state.nodes)
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
            fitting = [
                item.id
                for item in among[node]
                if self._fits(need, item) and not _may_not_add_up(need, item)
            ]
            if len(fitting) >= need.count:
                return node, fitting[: need.count]
        return None

    def nodes(self, *, admin: bool) -> Iterable[str]:
        """Return the nodes with devices that are idle; with admin access, with any."""
        return [node for node in (self._all if admin else self._idle) if node]

    def fitting(self, need: Need, node: str) -> list[Offered]:
        """Return the devices of a node that are idle and surely satisfy a need, one for one."""
        return [item for item in self._among(need).get(node, ()) if self._fits(need, item)]

    def have_room(self, items: Collection[Offered]) -> bool:
        """Return whether the counters suffice for all of these devices at once."""
        together = {*self._held, *(item.id for item in items)}
        pools = {(item.driver, item.pool) for item in items}
        return all(suffice(self._current[pool], together) for pool in pools)

    def take(self, node: str, taken: Iterable[str]) -> None:
        """Make devices of a node unavailable, and those that share counters with them."""
        gone = set(taken)
        self._held |= gone
        counted = {
            (item.driver, item.pool)
            for item in self._idle.get(node, ())
            if item.id in gone and item.is_counted
        }
        left = {
            name: [
                item
                for item in items
                if item.id not in gone
                and not (item.is_counted and (item.driver, item.pool) in counted)
            ]
            for name, items in self._idle.items()
        }
        self._idle = {name: items for name, items in left.items() if items}

    def has_doubtful(self, need: Need) -> bool:
        """Return whether some free device may satisfy the need, which an observer cannot know."""
        return self.has_unknown(need) or any(
            self._fits(need, item) and _may_not_add_up(need, item)
            for items in self._among(need).values()
            for item in items
        )

    def has_unknown(self, need: Need) -> bool:
        """Return whether it is unknown of a free device if it satisfies the need, or where."""
        return any(
            self._fits(need, item) is None or bool(self._fits(need, item) and not node)
            for node, items in self._among(need).items()
            for item in items
        )

    def _among(self, need: Need) -> dict[str, list[Offered]]:
        """Return the devices that no claim holds; with admin access, all of them."""
        return self._all if need.admin else self._idle

    def _fits(self, need: Need, item: Offered) -> bool | None:
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


def _by_node(offered: Iterable[Offered]) -> dict[str, list[Offered]]:
    nodes: dict[str, list[Offered]] = collections.defaultdict(list)
    for item in offered:
        nodes[item.node].append(item)
    return dict(nodes)


def _may_not_add_up(need: Need, item: Offered) -> bool:
    """Return whether counters that suffice for each device may not suffice for all of them."""
    return item.is_counted and need.count > 1 and not need.admin


class _Use:
    """The devices in use: `driver/pool/device` of all allocations without admin access."""

    def __init__(self, claims: Iterable[observed_claims.Claim]) -> None:
        self.held: set[str] = set()
        self.alone: set[str] = set()
        """Those that a claim has for itself."""
        for claim in claims:
            self.held |= {item.id for item in claim.results if not item.admin_access}
            self.alone |= set(exclusive(claim))


def exclusive(claim: observed_claims.Claim) -> list[str]:
    """Return `driver/pool/device` of the devices that a claim holds alone."""
    return [
        item.id
        for item in claim.results
        if claim_results.is_exclusive(admin=item.admin_access, share=item.share)
    ]


def _current(
    slices: Iterable[observed_slices.Slice],
) -> dict[tuple[str, str], list[observed_slices.SliceSpec]]:
    """Return the slices of the newest generation of each pool that is complete."""
    pools: dict[tuple[str, str], list[observed_slices.SliceSpec]] = collections.defaultdict(list)
    for piece in sorted(slices, key=lambda piece: piece.metadata.name):
        pools[piece.spec.driver, piece.spec.pool.name].append(piece.spec)
    found: dict[tuple[str, str], list[observed_slices.SliceSpec]] = {}
    for name, pieces in pools.items():
        newest = max(piece.pool.generation for piece in pieces)
        current = [piece for piece in pieces if piece.pool.generation == newest]
        if len(current) == current[0].pool.resource_slice_count:
            found[name] = current
    return found


def _offered(
    pools: Iterable[list[observed_slices.SliceSpec]], use: _Use, *, are_clear: bool
) -> Iterator[Offered]:
    """Yield the devices; with DeviceTaintRules it is not clear which may be allocated."""
    for current in pools:
        enough = enough_by_device(current, use.held)
        for spec in current:
            yield from _devices(spec, use, enough, are_clear=are_clear)


def _devices(
    spec: observed_slices.SliceSpec,
    use: _Use,
    enough: Mapping[str, bool | None],
    *,
    are_clear: bool,
) -> Iterator[Offered]:
    is_plain = are_clear and not spec.per_device_node_selection
    for device in spec.devices or ():
        name = str(devices.DeviceID(spec.driver, spec.pool.name, device.name))
        has_shares = name in use.held - use.alone
        owner = (device.attributes or {}).get("owner") or {}
        is_unclear = device.taints or device.binding_conditions or has_shares
        is_sure = is_plain and not is_unclear and enough.get(name, True) is not None
        is_free = name not in use.held or (has_shares and bool(device.allow_multiple_allocations))
        yield Offered(
            id=name,
            node=spec.node_name if is_sure else "",
            driver=spec.driver,
            owner=owner.get("string", ""),
            is_idle=is_free and (has_shares or enough.get(name, True) is not False),
            is_counted=name in enough,
            pool=spec.pool.name,
            known=device,
        )

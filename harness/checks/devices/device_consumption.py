"""The check of consumption: no capacity of a shared device and no counter is used up twice.

The API server adds nothing up; only the scheduler's bookkeeping prevents over-use. The shares of a
device consume its capacities together. Each device in use, exclusively or by shares, consumes the
counters that its slice says, once. Results with admin access consume nothing.

The amounts that a share consumes are computed from its request and the slice (`capacities`). The
amount that the scheduler wrote counts only if it follows from a version of the slice, or if none
follows. An amount below zero counts as zero, so that it makes no room for others, and to allocate
such an amount is a violation, too.
"""

import collections
import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.devices import capacities, device_catalogue
from harness.checks.holds import claim_events, hold_history
from harness.checks.observed import observations
from harness.history import plans
from harness.model import devices, quantities


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """An amount that is used from one resourceVersion to another."""

    holds: tuple[hold_history.Hold, ...]
    """The holds behind it, the earliest first."""
    amount: Fraction
    from_rv: int
    until_rv: int | None
    """Exclusive; None: to the end of the history."""


@dataclasses.dataclass(frozen=True, slots=True)
class Excess:
    """A time in which more was used than there is."""

    from_rv: int
    until_rv: int | None
    """Exclusive; None: to the end of the history."""
    most: Fraction
    """Largest sum in that time."""
    limit: Fraction
    holds: tuple[hold_history.Hold, ...]
    """The holds behind that sum, the earliest first."""


def excesses(uses: Iterable[Use], limit: Callable[[int], Fraction | None]) -> Iterator[Excess]:
    """Yield each time in which the sum of the uses is above the limit, in order.

    Uses that begin or end at one version do so at once.

    `limit` returns how much there is at a resourceVersion, which never becomes less; None: that is
    not known.
    """
    current: dict[int, Use] = {}
    excess: Excess | None = None
    lasting = [use for use in uses if use.until_rv is None or use.until_rv > use.from_rv]
    events = [
        (rv, number, use)
        for number, use in enumerate(lasting)
        for rv in (use.from_rv, use.until_rv)
        if rv is not None
    ]
    events.sort(key=lambda event: event[:2])
    for rv, at_once in itertools.groupby(events, key=lambda event: event[0]):
        for _, number, use in at_once:
            if use.from_rv == rv:
                current[number] = use
            else:
                del current[number]
        total, there = sum((use.amount for use in current.values()), Fraction(0)), limit(rv)
        if there is None or total <= there:
            if excess is not None:
                yield dataclasses.replace(excess, until_rv=rv)
            excess = None
        elif excess is None or total > excess.most:
            since = rv if excess is None else excess.from_rv
            excess = Excess(since, None, total, there, tuple(_at(current.values(), rv)))
    if excess is not None:
        yield excess


def _at(uses: Iterable[Use], rv: int) -> list[hold_history.Hold]:
    holds = [hold for use in uses for hold in use.holds]
    lasting = [hold for hold in holds if hold.from_rv <= rv < (hold.until_rv or rv + 1)]
    return sorted(lasting, key=lambda hold: (hold.from_rv, hold.device))


def joined_uses(holds: Sequence[hold_history.Hold], amount: Fraction) -> Iterator[Use]:
    """Yield the times in which at least one of the holds of a device lasts, each as one use."""
    group: list[hold_history.Hold] = []
    until: int | None = 0
    for hold in sorted(holds, key=lambda hold: hold.from_rv):
        if group and until is not None and hold.from_rv >= until:
            yield Use(tuple(group), amount, group[0].from_rv, until)
            group = []
        is_open = hold.until_rv is None or (bool(group) and until is None)
        until = None if is_open else max(hold.until_rv or 0, (until or 0) if group else 0)
        group.append(hold)
    if group:
        yield Use(tuple(group), amount, group[0].from_rv, until)


_Amounts: TypeAlias = Sequence[tuple[int, Mapping[Any, Fraction]]]
"""The versions of a slice: resourceVersion, and name -> amount."""
_CONSUMING = ("shared", "partitions", "limit")
"""Keys of kinds of pools whose devices have capacities or counters to consume."""
_ZERO = Fraction(0)


class _Device:
    """A device in all versions of its slice."""

    def __init__(self, name: str, catalogue: device_catalogue.DeviceCatalogue) -> None:
        known = catalogue.devices.of(name)
        self.pool, self.slice = devices.parse(name)[:2], known[0][1].slice
        self.capacity = [(since, item.capacity) for since, item in known]
        self.counters = [(since, item.counters) for since, item in known]
        self._offered = [(since, item.device) for since, item in known if item.is_shareable]
        self._known = functools.cache(self._follows)

    def consumed(self, hold: hold_history.Hold, capacity: str) -> Iterator[Fraction]:
        """Yield the amounts of the shares of a hold. Raises QuantityError for a malformed one."""
        for share in hold.shares:
            names = capacities.by_plain_name(dict(share.written), self.pool[0])
            written = quantities.amount(names.get(capacity, "0"))
            count = sum(since <= hold.from_rv for since, _ in self._offered)
            known = {} if share.asked is None else self._known(share.asked, count)
            follows = known.get(capacity, ())
            yield written if written in follows or not follows else min(follows)

    def _follows(
        self, asked: claim_events.Quantities, count: int
    ) -> Mapping[str, Collection[Fraction]]:
        """Return what a request may take of each capacity, by the first versions.

        Empty if the request is ambiguous.
        """
        found = collections.defaultdict[str, set[Fraction]](set)
        with contextlib.suppress(capacities.AmbiguousNamesError):
            for _, device in self._offered[:count]:
                taken = capacities.of_device(device, self.pool[0], dict(asked))
                for name, item in taken.items():
                    found[name] |= item.amounts
        return found


def is_owed(plan: plans.Plan) -> bool:
    is_described = plan_facts.kinds_have(plan, *_CONSUMING)
    return is_described or plan_facts.files_have(plan, "counters", "shares")


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    holds = evidence[hold_history.HoldHistory].holds
    catalogue = evidence[device_catalogue.DeviceCatalogue]
    device_of = functools.cache(lambda name: _Device(name, catalogue))
    consuming = {
        name
        for name in catalogue.devices
        if any(item.counters for _, item in catalogue.devices.of(name))
    }
    shares = holds.where(devices=catalogue.devices, shared_only=True)
    consumers = holds.where(devices=consuming)
    if not (shares or consumers):
        none = CHECK.not_examined(
            "no share of a device and no device with counters was allocated, so nothing was "
            "examined"
        )
        return none.as_unknown() if is_owed(evidence.plan) else none
    found = [
        *_of_capacities(_by_device(shares), device_of),
        *_of_counters(_by_device(consumers), device_of, catalogue),
        *_below_zero(shares, consumers, device_of),
    ]
    found.sort(key=lambda item: sorted(set(item.versions)))
    figures = (
        f"{len(shares)} shares of devices and {len(consumers)} allocations of devices with counters"
    )
    reason = f"{figures}; nothing was consumed beyond what there is"
    return findings.result(
        CHECK,
        found,
        examined=len(shares) + len(consumers),
        reason=f"{findings.first(found)}; among {figures}" if found else reason,
        worst=findings.worst(found),
    )


CHECK = protocol.Check(
    name="device_consumption",
    guarantee="C",
    promise="no capacity of a device and no counter of a pool is consumed beyond what there is",
    applies=lambda plan: observations.SLICES in plan.resources or is_owed(plan),
    needs=(hold_history.HoldHistory, device_catalogue.DeviceCatalogue),
    judge=judge,
)
_Devices: TypeAlias = Callable[[str], _Device]
_Held: TypeAlias = Mapping[str, Sequence[hold_history.Hold]]


def _by_device(holds: Iterable[hold_history.Hold]) -> _Held:
    found = collections.defaultdict[str, list[hold_history.Hold]](list)
    for hold in holds:
        found[hold.device].append(hold)
    return found


def _names(versions: _Amounts) -> Iterable[Any]:
    return dict.fromkeys(name for _, amounts in versions for name in amounts)


def _until(versions: _Amounts, name: Any, rv: int) -> list[Fraction]:
    return [amounts[name] for since, amounts in versions if since <= rv and name in amounts]


def _limit(versions: _Amounts, name: Any) -> Callable[[int], Fraction | None]:
    """Return how much there is at a version, at least zero; None: that is not known."""
    return lambda rv: max([_ZERO, *found]) if (found := _until(versions, name, rv)) else None


def _of_capacities(held: _Held, device_of: _Devices) -> Iterator[findings.Finding]:
    for name, holds in held.items():
        device = device_of(name)
        for capacity in _names(device.capacity):
            uses = [
                Use(
                    (hold,),
                    sum((max(it, _ZERO) for it in device.consumed(hold, capacity)), _ZERO),
                    hold.from_rv,
                    hold.until_rv,
                )
                for hold in holds
            ]
            for excess in excesses(uses, _limit(device.capacity, capacity)):
                yield _finding(f"{capacity} of device {name}", excess, [device])


def _of_counters(
    held: _Held, device_of: _Devices, catalogue: device_catalogue.DeviceCatalogue
) -> Iterator[findings.Finding]:
    uses = collections.defaultdict[tuple[tuple[str, str], tuple[str, str]], list[Use]](list)
    for name, holds in held.items():
        device, first = device_of(name), min(hold.from_rv for hold in holds)
        for counter in _names(device.counters):
            if amounts := _until(device.counters, counter, first):
                uses[device.pool, counter] += joined_uses(holds, max(min(amounts), _ZERO))
    for (pool, counter), used in uses.items():
        what = f"counter {counter[1]} of counter set {counter[0]} in pool {'/'.join(pool)}"
        for excess in excesses(used, _limit(catalogue.counters.get(pool, ()), counter)):
            involved = sorted({hold.device for hold in excess.holds})
            yield _finding(what, excess, map(device_of, involved))


def _below_zero(
    shares: Iterable[hold_history.Hold], consumers: Iterable[hold_history.Hold], device_of: _Devices
) -> Iterator[findings.Finding]:
    for hold in shares:
        device = device_of(hold.device)
        for capacity in _names(device.capacity):
            least = min(device.consumed(hold, capacity), default=_ZERO)
            if least < 0:
                yield _negative(capacity, least, hold, device)
    for hold in consumers:
        device = device_of(hold.device)
        for counter in _names(device.counters):
            most = max(_until(device.counters, counter, hold.from_rv), default=_ZERO)
            if most < 0:
                what = f"counter {counter[1]} of counter set {counter[0]}"
                yield _negative(what, most, hold, device)


def _negative(
    what: str, amount: Fraction, hold: hold_history.Hold, device: _Device
) -> findings.Finding:
    number = _number(amount)
    return findings.Finding(
        summary=f"claim {hold.name} consumes {number} of {what} of device {hold.device}",
        text=f"{_told(hold).capitalize()} consumes {number} of its {what}, which is less than "
        "nothing; it is counted as nothing",
        versions=[hold.from_rv],
        objects=[hold.involved, *_slices([device])],
        weight=_ZERO,
    )


# ---------------------------------------------------------------------------- results


def _finding(what: str, excess: Excess, involved: Iterable[_Device]) -> findings.Finding:
    holds, since, until = excess.holds, excess.from_rv, excess.until_rv
    most, limit = _number(excess.most), _number(excess.limit)
    end = "to the end of the history" if until is None else f"until {until}"
    claims = {hold.uid: hold for hold in holds}.values()
    return findings.Finding(
        summary=f"{what}: {most} of {limit} consumed from version {since}",
        text=f"{most} of {what} were consumed, but there are only {limit}, from resourceVersion "
        f"{since} {end}, by {'; '.join(map(_told, holds))}",
        versions=[since, *(hold.from_rv for hold in holds), *([] if until is None else [until])],
        objects=[*(claim.involved for claim in claims), *_slices(involved)],
        weight=excess.most / (excess.limit or 1),
    )


def _slices(involved: Iterable[_Device]) -> Iterable[verdicts.InvolvedObject]:
    named = {(item.slice.name, item.slice.uid): item.slice for item in involved if item.slice}
    return (named[key] for key in sorted(named))


def _told(hold: hold_history.Hold) -> str:
    return f"claim {hold} with {hold.device} from resourceVersion {hold.from_rv}"


def _number(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):g}"

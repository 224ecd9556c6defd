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
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.devices import capacities
from harness.checks.holds import hold_history
from harness.checks.observed import observations
from harness.history import plans
from harness.model import quantities


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
    events = sorted(_events(uses), key=lambda event: event[:2])
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


def _events(uses: Iterable[Use]) -> Iterator[tuple[int, int, Use]]:
    for number, use in enumerate(uses):
        if use.until_rv is None or use.until_rv > use.from_rv:
            yield use.from_rv, number, use
            if use.until_rv is not None:
                yield use.until_rv, number, use


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


Weighed: TypeAlias = tuple[Fraction, findings.Finding]
"""How bad a finding is, and the finding."""
_CONSUMING = ("shared", "partitions", "limit")
"""Keys of kinds of pools whose devices have capacities or counters to consume."""


def applies(plan: plans.Plan) -> bool:
    return observations.SLICES in plan.resources or is_owed(plan)


def is_owed(plan: plans.Plan) -> bool:
    is_described = plan_facts.kinds_have(plan, *_CONSUMING)
    return is_described or plan_facts.files_have(plan, "counters", "shares")


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    holds = evidence[hold_history.HoldHistory].holds
    declared = evidence[capacities.DeclaredDevices]
    shares = holds.where(devices=declared.devices, shared_only=True)
    consuming = {name for name, device in declared.devices.items() if device.consumes}
    consumers = holds.where(devices=consuming)
    if not (shares or consumers):
        none = CHECK.not_examined(
            "no share of a device and no device with counters was allocated, so nothing was "
            "examined"
        )
        return none.as_unknown() if is_owed(evidence.plan) else none
    weighed = [
        *_of_capacities(shares, declared),
        *_of_counters(consumers, declared),
        *_below_zero(shares, consumers, declared),
    ]
    weighed.sort(key=lambda item: sorted(set(item[1].versions)))
    found = [finding for _, finding in weighed]
    figures = (
        f"{len(shares)} shares of devices and {len(consumers)} allocations of devices with counters"
    )
    reason = f"{figures}; nothing was consumed beyond what there is"
    return findings.result(
        CHECK,
        found,
        examined=len(shares) + len(consumers),
        reason=f"{findings.first(found)}; among {figures}" if found else reason,
        worst=max(range(len(weighed)), key=lambda index: weighed[index][0], default=0),
    )


CHECK = protocol.Check(
    name="device_consumption",
    guarantee="C",
    promise="no capacity of a device and no counter of a pool is consumed beyond what there is",
    applies=applies,
    needs=(hold_history.HoldHistory, capacities.DeclaredDevices),
    judge=judge,
)


def _by_device(holds: Iterable[hold_history.Hold]) -> dict[str, list[hold_history.Hold]]:
    found: dict[str, list[hold_history.Hold]] = collections.defaultdict(list)
    for hold in holds:
        found[hold.device].append(hold)
    return found


# ------------------------------------------------------------------------- capacities


def _of_capacities(
    shares: Iterable[hold_history.Hold], declared: capacities.DeclaredDevices
) -> Iterator[Weighed]:
    for name, holds in _by_device(shares).items():
        device = declared.devices[name]
        for capacity, amounts in device.capacity.items():
            uses = [
                Use(
                    (hold,),
                    sum(map(_counted, _consumed(hold, capacity, device)), Fraction(0)),
                    hold.from_rv,
                    hold.until_rv,
                )
                for hold in holds
            ]
            for excess in excesses(uses, _limit(amounts)):
                what = f"{capacity} of device {name}"
                yield _weight(excess), _finding(what, excess, [device])


def _consumed(
    hold: hold_history.Hold, capacity: str, device: capacities.DeclaredDevice
) -> Iterator[Fraction]:
    for share in hold.shares:
        names = capacities.by_plain_name(dict(share.written), device.pool[0])
        written = quantities.amount(names.get(capacity, "0"))
        asked = share.asked
        follows = () if asked is None else device.following(asked, hold.from_rv).get(capacity, ())
        yield written if written in follows or not follows else min(follows)


def _counted(amount: Fraction) -> Fraction:
    """Return an amount; zero for one below it."""
    return max(amount, Fraction(0))


def _limit(amounts: capacities.Amounts) -> Callable[[int], Fraction | None]:
    def limit(rv: int) -> Fraction | None:
        most = amounts.most(rv)
        return None if most is None else _counted(most)

    return limit


# --------------------------------------------------------------------------- counters


def _of_counters(
    consumers: Iterable[hold_history.Hold], declared: capacities.DeclaredDevices
) -> Iterator[Weighed]:
    uses: dict[tuple[capacities.PoolKey, capacities.Counter], list[Use]]
    uses = collections.defaultdict(list)
    for name, holds in _by_device(consumers).items():
        device = declared.devices[name]
        first = min(hold.from_rv for hold in holds)
        for counter, amounts in device.consumes.items():
            amount = amounts.least(first)
            if amount is not None:
                uses[device.pool, counter] += joined_uses(holds, _counted(amount))
    for (pool, counter), used in uses.items():
        limit = declared.counters[pool].get(counter, capacities.Amounts())
        what = f"counter {counter[1]} of counter set {counter[0]} in pool {'/'.join(pool)}"
        for excess in excesses(used, _limit(limit)):
            involved = {hold.device for hold in excess.holds}
            devices = [declared.devices[name] for name in sorted(involved)]
            yield _weight(excess), _finding(what, excess, devices)


# ------------------------------------------------------------------------- below zero


def _below_zero(
    shares: Iterable[hold_history.Hold],
    consumers: Iterable[hold_history.Hold],
    declared: capacities.DeclaredDevices,
) -> Iterator[Weighed]:
    for hold in shares:
        device = declared.devices[hold.device]
        for capacity in device.capacity:
            least = min(_consumed(hold, capacity, device), default=Fraction(0))
            if least < 0:
                yield Fraction(0), _negative(capacity, least, hold, device)
    for hold in consumers:
        device = declared.devices[hold.device]
        for (counters, counter), amounts in device.consumes.items():
            most = amounts.most(hold.from_rv)
            if most is not None and most < 0:
                what = f"counter {counter} of counter set {counters}"
                yield Fraction(0), _negative(what, most, hold, device)


def _negative(
    what: str,
    amount: Fraction,
    hold: hold_history.Hold,
    device: capacities.DeclaredDevice,
) -> findings.Finding:
    number = _number(amount)
    return findings.Finding(
        summary=f"claim {hold.name} consumes {number} of {what} of device {hold.device}",
        text=f"{_told(hold).capitalize()} consumes {number} of its {what}, which is less than "
        "nothing; it is counted as nothing",
        versions=[hold.from_rv],
        objects=[verdicts.involved_claim(hold), *_slices([device])],
    )


# ---------------------------------------------------------------------------- results


def _weight(excess: Excess) -> Fraction:
    """Return how bad an excess is: how many times of what there is was consumed."""
    return excess.most / excess.limit if excess.limit else excess.most


def _finding(
    what: str, excess: Excess, devices: Sequence[capacities.DeclaredDevice]
) -> findings.Finding:
    holds, since, until = excess.holds, excess.from_rv, excess.until_rv
    most, limit = _number(excess.most), _number(excess.limit)
    end = "to the end of the history" if until is None else f"until {until}"
    claims = {hold.uid: hold for hold in holds}.values()
    return findings.Finding(
        summary=f"{what}: {most} of {limit} consumed from version {since}",
        text=f"{most} of {what} were consumed, but there are only {limit}, from resourceVersion "
        f"{since} {end}, by {'; '.join(map(_told, holds))}",
        versions=[since, *(hold.from_rv for hold in holds), *([] if until is None else [until])],
        objects=[*map(verdicts.involved_claim, claims), *_slices(devices)],
    )


def _slices(
    devices: Iterable[capacities.DeclaredDevice],
) -> Iterator[verdicts.InvolvedObject]:
    for name, uid in sorted({(device.slice_name, device.slice_uid) for device in devices}):
        yield verdicts.InvolvedObject(kind="ResourceSlice", namespace="", name=name, uid=uid)


def _told(hold: hold_history.Hold) -> str:
    return (
        f"claim {hold.namespace}/{hold.name} (uid {hold.uid}) with {hold.device} from "
        f"resourceVersion {hold.from_rv}"
    )


def _number(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):g}"

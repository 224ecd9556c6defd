"""Sums of uses against adding up every version."""

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction

from harness.checks.devices import device_consumption
from harness.checks.holds import hold_history
from tests.support import brute_force

HISTORIES = brute_force.HISTORIES
LAST = 14


def hold(name: str, since: int, until: int | None, device: str = "d") -> hold_history.Hold:
    return hold_history.Hold(
        device=device,
        exclusive=False,
        uid=f"uid-{name}",
        namespace="tests",
        name=name,
        from_rv=since,
        from_ts_ns=0,
        until_rv=until,
    )


def use(name: str, amount: int, since: int, until: int | None) -> device_consumption.Use:
    return device_consumption.Use((hold(name, since, until),), Fraction(amount), since, until)


def _lasts(since: int, until: int | None, version: int) -> bool:
    return since <= version and (until is None or version < until)


def _drawn(stream: random.Random) -> list[tuple[int, int | None]]:
    begins = [stream.randint(1, LAST - 4) for _ in range(stream.randint(1, 6))]
    return [
        (since, None if stream.random() < 0.15 else stream.randint(since, LAST)) for since in begins
    ]


def _times(uses: Sequence[device_consumption.Use]) -> list[int]:
    return [
        version
        for version in range(LAST + 2)
        for item in uses
        if _lasts(item.from_rv, item.until_rv, version)
    ]


def test_holds_of_a_device_are_joined() -> None:
    for seed in range(HISTORIES):
        stream = random.Random(seed)
        spans = [(since, until) for since, until in _drawn(stream) if since != until]
        holds = [hold(f"c{number}", *span) for number, span in enumerate(spans)]
        uses = list(device_consumption.joined_uses(holds, Fraction(1)))
        used = [
            version for version in range(LAST + 2) if any(_lasts(*span, version) for span in spans)
        ]
        assert _times(uses) == used, seed
        assert sorted(item.name for one in uses for item in one.holds) == sorted(
            item.name for item in holds
        )
        for one in uses:
            begins = [item.from_rv for item in one.holds]
            assert begins == sorted(begins)
            assert begins[0] == one.from_rv
        for before, after in itertools.pairwise(uses):
            assert before.until_rv is not None
            assert before.until_rv <= after.from_rv


def test_each_time_with_too_much_is_found() -> None:
    count = 0
    for seed in range(HISTORIES):
        stream = random.Random(seed)
        uses = [
            use(f"c{number}", stream.randint(1, 3), *span)
            for number, span in enumerate(_drawn(stream))
        ]
        limits = sorted(stream.choice([None, 2, 3, 4]) or 0 for _ in range(LAST + 2))
        known = [Fraction(item) if item else None for item in limits]
        found = list(device_consumption.excesses(uses, lambda rv, known=known: known[rv]))  # type: ignore[misc]
        lasting = [item for item in uses if item.from_rv != item.until_rv]
        events = sorted({rv for item in lasting for rv in (item.from_rv, item.until_rv or 0)} - {0})
        sums = {
            rv: sum(item.amount for item in uses if _lasts(item.from_rv, item.until_rv, rv))
            for rv in events
        }
        over = [rv for rv in events if (limit := known[rv]) is not None and sums[rv] > limit]
        assert [
            rv for rv in events for item in found if _lasts(item.from_rv, item.until_rv, rv)
        ] == over, seed
        for item in found:
            during = [rv for rv in over if _lasts(item.from_rv, item.until_rv, rv)]
            worst = max(during, key=lambda rv: sums[rv])  # the first of the largest sums
            assert (item.from_rv, item.most, item.limit) == (during[0], sums[worst], known[worst])
            behind = {one.name for one in item.holds}
            lasting = [
                one.holds[0].name for one in uses if _lasts(one.from_rv, one.until_rv, worst)
            ]
            assert behind == set(lasting), seed
        count += bool(over)
    assert HISTORIES // 5 < count < HISTORIES


def test_the_holds_behind_an_excess_are_in_order() -> None:
    later, earlier = use("b", 2, 3, None), use("a", 2, 2, 9)
    joined = device_consumption.Use((hold("x", 1, 2), hold("y", 1, None)), Fraction(2), 1, None)
    [found] = device_consumption.excesses([later, earlier, joined], lambda _: Fraction(5))
    assert [item.name for item in found.holds] == ["y", "a", "b"]
    assert (found.from_rv, found.until_rv, found.most) == (3, 9, 6)

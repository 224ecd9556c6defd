"""Two judges of the same random holds: pandas, and every pair one by one.

Re-allocations to the same claim, shares, admin access, open and empty holds and equal revisions are
the rule in them.
"""

import collections
import itertools
import random

import msgspec
import pandas as pd
import pytest

from harness.checks.holds import claim_events, double_allocations, hold_history
from tests.histories import hold_lists
from tests.support import brute_force

END = 20
"""One more than the last revision."""
HOWS = (
    claim_events.EXCLUSIVE,
    claim_events.EXCLUSIVE,
    claim_events.Held(shared=True),
    claim_events.Held(exclusive=True, shared=True),
    claim_events.Held(),
)

OFFERED = {"d": True, "e": False, "f": None}
"""Device -> whether slices offer it for sharing; None: no slice has it."""


def random_holds(draw: random.Random) -> list[hold_history.Hold]:
    found = []
    for number in range(draw.randint(0, 9)):
        how, begin = draw.choice(HOWS), draw.randint(0, 9)
        until = draw.choice([None, *range(begin, begin + 6)])
        claim = draw.choice("abc")
        found.append(
            hold_lists.hold(
                draw.choice("def"),
                claim,
                begin,
                until,
                exclusive=how.exclusive,
                shared=how.shared,
                from_ts_ns=number,
                until_ts_ns=None if until is None else number,
            )
        )
    return found


def is_share(hold: hold_history.Hold) -> bool:
    return hold.shared and not hold.exclusive


def in_order(holds: list[hold_history.Hold]) -> list[hold_history.Hold]:
    """The holds that are examined: those that exclude others, and then the proper shares."""
    alone = [
        hold for hold in holds if hold.exclusive or (hold.shared and OFFERED[hold.device] is False)
    ]
    return alone + [hold for hold in holds if is_share(hold) and OFFERED[hold.device]]


def versions(hold: hold_history.Hold) -> set[int]:
    return set(range(hold.from_rv, END if hold.until_rv is None else hold.until_rv))


def by_brute_force(holds: list[hold_history.Hold]) -> list[tuple[int, int]]:
    """All pairs in order: by the begin of the later hold, then by rows."""
    found = []
    for (one, a), (two, b) in itertools.combinations(enumerate(holds), 2):
        are_shares = all(is_share(hold) and OFFERED[hold.device] for hold in (a, b))
        if a.device == b.device and a.uid != b.uid and versions(a) & versions(b) and not are_shares:
            first, second = sorted((one, two), key=lambda row: (holds[row].from_rv, row))
            found.append((holds[second].from_rv, first, second))
    return [(first, second) for _, first, second in sorted(found)]


def by_pandas(holds: list[hold_history.Hold]) -> tuple[pd.DataFrame, double_allocations.Found]:
    frame = hold_lists.columns(holds).frame(end_rv=END)
    examined = double_allocations.examined(frame, OFFERED.get)
    return examined, double_allocations.find(examined)


def test_both_judges_agree_about_random_histories() -> None:
    draw = random.Random(14)
    histories = [random_holds(draw) for _ in range(brute_force.HISTORIES)]
    all_pairs = by_pandas_at_once(histories)
    for run, holds in enumerate(histories):
        assert all_pairs.get(run, []) == by_brute_force(in_order(holds)), holds


def by_pandas_at_once(histories: list[list[hold_history.Hold]]) -> dict[int, list[tuple[int, int]]]:
    """Number of a history -> its pairs, in order; the devices of each are its own."""
    holds = [
        msgspec.structs.replace(hold, device=f"{run}{hold.device}")
        for run, history in enumerate(histories)
        for hold in in_order(history)
    ]
    frame = hold_lists.columns(holds).frame(end_rv=END)
    examined = double_allocations.examined(frame, lambda device: OFFERED[device[-1]])
    numbers = examined.device.astype(str).str[:-1].astype(int)
    place = examined.groupby(numbers).cumcount()
    pairs = pd.concat(double_allocations.conflicts(examined)).sort_values(double_allocations.ORDER)
    found = collections.defaultdict(list)
    for first, second in zip(pairs["first"], pairs["second"], strict=True):
        found[int(numbers[first])].append((int(place[first]), int(place[second])))
    return found


def test_what_is_listed_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(double_allocations, "LISTED_MAX", 2)
    monkeypatch.setattr(double_allocations, "PAIRS_AT_ONCE", 3)
    draw = random.Random(15)
    for _ in range(max(40, brute_force.HISTORIES // 100)):
        rows = in_order([hold for _ in range(3) for hold in random_holds(draw)])
        pairs = by_brute_force(rows)
        lengths = [len(versions(rows[one]) & versions(rows[two])) for one, two in pairs]
        longest = [pairs[lengths.index(max(lengths))]] if pairs else []
        examined, found = by_pandas(rows)
        assert [rows[row] for row in examined.row] == rows
        kept = {*pairs[:2], *longest, *pairs[-1:]}
        assert set(zip(found.listed["first"], found.listed["second"], strict=True)) == kept, rows
        odd = double_allocations.first_by_second(examined, range(1, len(rows), 2))
        mine = [pair for pair in pairs if pair[1] % 2][:2]
        assert [*zip(odd["first"], odd["second"], strict=True)] == mine, rows
        devices = {rows[one].device for one, _ in pairs}
        assert (found.total, found.devices) == (len(pairs), len(devices)), rows


def test_holds_are_chosen_by_device_claim_and_kind() -> None:
    draw = random.Random(16)
    for _ in range(50):
        holds = random_holds(draw)
        columns = hold_lists.columns(holds)
        assert list(columns) == holds
        assert columns.open_count == sum(hold.until_rv is None for hold in holds)
        for one in "abcdef":
            assert columns.of_device(one) == [hold for hold in holds if hold.device == one]
            assert columns.of_claims("tests", one) == [hold for hold in holds if hold.name == one]
            assert columns.of_claims("another", one) == []
        some = [hold for hold in holds if hold.device in "de"]
        assert columns.where(devices="de", shared_only=True) == [h for h in some if h.shared]
        assert columns.where(devices="de") == [h for h in some if h.shared or h.exclusive]


@pytest.mark.parametrize("near", [0, 2**62])
def test_large_resource_versions_do_not_overflow(near: int) -> None:
    rows = [(1, near, near + 5), (0, near, near + 5), (1, near + 4, near + 9)]
    rows += [(5, 0, near + 2**61), (6, 1, 2)]
    table = pd.DataFrame(rows, columns=["device", "from_rv", "until_rv"], dtype="int64")
    [found] = double_allocations.overlapping(table)
    assert found.to_numpy().tolist() == [[0, 2]]


def test_a_device_in_two_thousand_claims_makes_two_million_pairs() -> None:
    holds = [hold_lists.hold("d", f"c{index}", index) for index in range(2_000)]
    frame = hold_lists.columns(holds).frame(end_rv=5_000)
    found = double_allocations.find(double_allocations.examined(frame, lambda _: None))
    assert (found.total, found.devices) == (1_999_000, 1)
    pairs = found.listed[["first", "second"]].to_numpy().tolist()
    assert pairs[:3] == [[0, 1], [0, 2], [1, 2]]
    assert pairs[-1] == [1_998, 1_999]

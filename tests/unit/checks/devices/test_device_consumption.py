"""Shares and counters: over-use is found from the history, and everything else is not."""

import json
import pathlib
import random
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.devices import device_consumption
from harness.history import records
from tests.histories import (
    building,
    claim_judging,
    damages,
    hold_lists,
    judged_runs,
    language,
    shared_devices,
)
from tests.histories.shared_devices import claim, device_id, gone, slices
from tests.support import brute_force, text_tables

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
NAMES = ["a", "b", "c"]


def judged(body: Iterable[records.Body]) -> verdicts.CheckResult:
    check = device_consumption.CHECK
    plan = building.plan(settings={"pools": {"more": [{"shared": True}]}})
    return judged_runs.examined(check.judge(claim_judging.evidence(body, [check], of=plan)))


def consumption(*body: records.Body) -> verdicts.CheckResult:
    return judged([*slices(), *body])


# ------------------------------------------------------------------------- capacities


def history(text: str) -> Iterator[records.Body]:
    """The records for the words of consumption_cases.txt."""
    for rv, word in enumerate(text.split(), start=2):
        name, sign, rest = re.split(r"([:~=])", word, maxsplit=1) if word != "." else (".", "", "")
        if sign == "=":
            yield from slices(rv, **{name: json.loads(rest)})
        elif sign == "~":
            yield gone(rv, name)
        elif sign:
            found = re.findall(r"(S|[WHXN]\d?)=?(-?\d*)", rest)
            yield claim(
                rv, name, {device: int(amount) if amount else None for device, amount in found}
            )


@pytest.mark.parametrize(("text", "expected"), text_tables.cases(__file__, "consumption_cases.txt"))
def test_what_is_consumed_beyond_the_limits_is_found(text: str, expected: str) -> None:
    result = consumption(*history(text))
    if expected == "none":
        assert (result.verdict, result.examined_count) == (UNKNOWN, 0)
        return
    assert (result.verdict, result.examined_count > 0) == (INVALID if expected else VALID, True)
    summaries = [item.summary for item in result.violations]
    fragments = expected.split(" ; ") if expected else []
    assert len(summaries) == len(fragments), summaries
    assert all(part in said for part, said in zip(fragments, summaries, strict=True)), summaries


def test_less_than_no_counters_is_nothing() -> None:
    body = [*slices(slots=-1), claim(2, "a", {"H1": None})]
    [violation] = judged(body).violations
    assert "1 of 0 consumed" in violation.summary


def test_without_slices_nothing_is_known() -> None:
    without = judged([claim(2, "a", {"S": 9})])
    assert without.verdict is UNKNOWN


def test_too_much_is_named_with_its_claims_and_versions() -> None:
    body = [claim(2, "a", {"S": 1}), claim(3, "b", {"S": 3}), claim(4, "c", {"S": 2}), gone(6, "b")]
    result = consumption(*body)
    assert (result.verdict, result.violation_count) == (INVALID, 1)
    [violation] = result.violations
    gi = 2**30
    assert violation.summary == (
        f"memory of device {device_id('S')}: {6 * gi} of {4 * gi} consumed from version 4"
    )
    assert list(violation.resource_versions) == [2, 3, 4, 6]
    named = [(item.kind, item.name) for item in violation.objects]
    assert named == [
        ("ResourceClaim", "a"),
        ("ResourceClaim", "b"),
        ("ResourceClaim", "c"),
        ("ResourceSlice", "devices"),
    ]
    assert "until 6" in violation.text


def test_the_first_ones_the_worst_and_the_last_are_listed_in_full() -> None:
    body = [claim(2, "a", {"S": 4})]
    amounts = [1] * 22 + [3] + [1] * 3
    for number, amount in enumerate(amounts):
        body += [claim(3 + 2 * number, "b", {"S": amount}), gone(4 + 2 * number, "b")]
    result = consumption(*body)
    assert result.violation_count == len(amounts)
    listed = [max(violation.resource_versions) for violation in result.violations]
    assert listed == [4 + 2 * number for number in (*range(20), 22, 25)]
    assert f"{7 * 2**30} of {4 * 2**30}" in result.violations[20].summary
    assert [
        f"from version {3 + 2 * number}" in text
        for number, text in zip((20, 21, 23, 24), result.others, strict=True)
    ] == [True] * 4


def _use(name: str, amount: int, since: int, until: int | None) -> device_consumption.Use:
    hold = hold_lists.hold("d", name, since, until, exclusive=False)
    return device_consumption.Use((hold,), Fraction(amount), since, until)


def test_an_excess_has_the_first_of_its_largest_sums_and_no_empty_use() -> None:
    uses = [_use("a", 2, 1, None), _use("b", 2, 3, 9), _use("c", 1, 5, 7), _use("d", 1, 7, 8)]
    uses.append(_use("empty", 9, 6, 6))
    [found] = device_consumption.excesses(uses, lambda _: Fraction(3))
    assert (found.from_rv, found.until_rv, found.most) == (3, 9, 5)
    assert [item.name for item in found.holds] == ["a", "b", "c"]


def test_the_uses_of_a_device_are_joined_in_the_order_of_their_versions() -> None:
    """After a gap, claims are listed in the order of their names."""
    uses = [_use("b", 1, 5, 8), _use("a", 1, 3, 6), _use("c", 1, 9, None)]
    joined = device_consumption.joined_uses([use.holds[0] for use in uses], Fraction(1))
    assert [(use.from_rv, use.until_rv) for use in joined] == [(3, 8), (9, None)]


def test_each_capacity_is_added_up_by_itself() -> None:
    cores = '"capacity": {"cores": {"value": "4Gi"}, "memory"'
    pool = language.replaced(slices(), '"capacity": {"memory"', cores)
    shares = language.replaced(
        [claim(2, "a", {"S": 2}), claim(3, "b", {"S": 2})],
        '"consumedCapacity": {',
        '"consumedCapacity": {"gpu.example/cores": "1Gi", ',
    )
    assert judged([*pool, *shares]).verdict is VALID
    more = language.replaced(shares, '"1Gi"', '"3Gi"')
    [violation] = judged([*pool, *more]).violations
    assert violation.summary.startswith(f"cores of device {device_id('S')}: ")


def test_a_slice_may_name_a_capacity_with_its_driver() -> None:
    pool = language.replaced(slices(), '"memory"', '"gpu.example/memory"')
    fits = [claim(2, "a", {"S": 1}), claim(3, "b", {"S": 3})]
    assert judged([*pool, *fits]).verdict is VALID
    over = [*fits, claim(4, "c", {"S": 1})]
    assert judged([*pool, *over]).verdict is INVALID


# ------------------------------------------------------- what shares consume is computed


def _asking(
    rv: int, name: str, asked: str | None, written: str | None, **fields: Any
) -> records.Body:
    """A claim with a share of device S, what it asks for, and what the scheduler wrote."""
    wanted = {} if asked is None else {"capacity": {"requests": {"memory": asked}}}
    spec = {"devices": {"requests": [{"name": "r", "exactly": wanted}]}}
    row = {"request": "r", "driver": "gpu.example", "pool": "pool", "device": "S"}
    row |= {"shareID": f"share-{name}"} | fields
    row |= {} if written is None else {"consumedCapacity": {"memory": written}}
    return shared_devices.allocated(rv, name, [row], spec=spec)


def _with_policy(policy: str, value: str = "4Gi") -> list[records.Body]:
    new = f'"memory": {{"value": "{value}", "requestPolicy": {policy}}}'
    return language.replaced(slices(), '"memory": {"value": "4Gi"}', new)


DEFAULT = '{"default": "2Gi"}'
STEPS = '{"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}'


@pytest.mark.parametrize(
    ("policy", "asked", "written", "fit"),
    [
        # (request policy, quantity asked for, written by the scheduler, claims that fit into 4Gi)
        ("null", None, None, 1),
        ("null", None, "1Gi", 1),
        ("null", "1Gi", None, 4),
        ("null", "1Gi", "0", 4),
        ("null", "2Gi", "1Gi", 2),
        ("null", "1Gi", "2Gi", 4),
        (DEFAULT, None, None, 2),
        (DEFAULT, None, "1Gi", 2),
        (DEFAULT, "1Gi", "1Gi", 4),
        (STEPS, "1025Mi", "1025Mi", 2),
        (STEPS, "1025Mi", "2Gi", 2),
        (STEPS, "1", "1", 4),
        (STEPS, "1", "-9Gi", 4),
    ],
)
def test_what_a_share_consumes_is_computed(
    policy: str, asked: str | None, written: str | None, fit: int
) -> None:
    body = [_asking(rv, f"c{rv}", asked, written) for rv in range(2, 3 + fit)]
    pool = _with_policy(policy)
    assert judged([*pool, *body[:-1]]).verdict is VALID
    result = judged([*pool, *body])
    assert (result.verdict, result.violation_count) == (INVALID, 1)
    assert f"from version {2 + fit}" in result.reason


def test_an_amount_that_follows_from_another_version_of_the_slice_is_believed() -> None:
    """The scheduler may have seen either."""
    pool = [
        *slices(),
        *language.replaced(slices(2), '"4Gi"}', f'"4Gi", "requestPolicy": {DEFAULT}}}'),
    ]
    large = [_asking(3, "a", None, "4Gi"), _asking(4, "b", None, "2Gi")]
    assert judged([*pool, *large]).verdict is INVALID
    small = [_asking(3, "a", None, None), _asking(4, "b", None, "2Gi")]
    assert judged([*pool, *small]).verdict is VALID
    part = [_asking(3, "a", None, "2Gi"), _asking(4, "b", None, "2Gi")]
    assert judged([*pool, *part]).verdict is VALID
    unshared = language.replaced(pool[2:], '"allowMultipleAllocations": true, ', "")
    assert judged([*slices(), *unshared, *part]).verdict is INVALID
    later = [
        *slices(),
        *small,
        *language.replaced(slices(5), '"4Gi"}', f'"4Gi", "requestPolicy": {DEFAULT}}}'),
    ]
    assert judged(later).verdict is INVALID


def test_what_cannot_be_computed_is_what_was_written() -> None:
    """The claim has no such request, or names the capacity twice."""
    unknown = [claim(2, "a", {"S": 3}), claim(3, "b", {"S": 1})]
    assert consumption(*unknown).verdict is VALID
    twice = '{"memory": "1Gi", "gpu.example/memory": "1Gi"}'
    body = language.replaced([_asking(2, "a", "1Gi", "3Gi")], '{"memory": "1Gi"}', twice)
    assert consumption(*body, claim(3, "b", {"S": 1})).verdict is VALID
    assert consumption(*body, claim(3, "b", {"S": 2})).verdict is INVALID


def test_amounts_beyond_64_bits_are_exact() -> None:
    def verdict_of(second: str) -> verdicts.Verdict:
        pool = language.replaced(slices(), '"4Gi"', '"20E"')
        body = [_asking(2, "a", "10E", None), _asking(3, "b", second, None)]
        return judged([*pool, *body]).verdict

    assert verdict_of("10E") is VALID
    assert verdict_of("10000000000000000001") is INVALID


@pytest.mark.parametrize("written", [None, "-4Gi"])
def test_an_amount_below_zero_counts_as_nothing_and_is_named(written: str | None) -> None:
    """It makes no room for what others consume."""
    below = _asking(2, "a", "-4Gi", written)
    alone = consumption(below)
    assert (alone.verdict, alone.violation_count) == (INVALID, 1)
    [violation] = alone.violations
    number = -4 * 2**30
    assert violation.summary == (f"claim a consumes {number} of memory of device {device_id('S')}")
    assert "which is less than nothing; it is counted as nothing." in violation.text
    assert [item.kind for item in violation.objects] == ["ResourceClaim", "ResourceSlice"]
    full = consumption(below, _asking(3, "b", "4Gi", "4Gi"))
    assert full.violation_count == 1
    over = consumption(below, _asking(3, "b", "4Gi", "4Gi"), _asking(4, "c", "1", "1"))
    assert over.violation_count == 2
    assert "4294967297 of 4294967296 consumed from version 4" in over.violations[1].summary
    beside = language.replaced([claim(2, "a", {"S": -4, "X": 1})], '"X"', '"S"')
    assert f"consumes {number} of memory" in consumption(*beside).violations[0].summary


def test_admin_access_consumes_nothing() -> None:
    body = [_asking(2, "a", None, None, adminAccess=True), _asking(3, "b", None, None)]
    assert consumption(*body).verdict is VALID


# --------------------------------------------------------------------------- counters


def test_claims_are_named_that_have_a_device_at_that_time() -> None:
    body = [claim(2, "a", {"H1": 0}), claim(3, "b", {"H1": 0}), gone(4, "a")]
    result = consumption(*body, claim(5, "w", {"W": None}), claim(6, "c", {"H1": 0}), gone(7, "w"))
    [violation] = result.violations
    named = [item.name for item in violation.objects if item.kind == "ResourceClaim"]
    assert named == ["b", "w"]
    assert "until 7" in violation.text


def test_a_device_that_consumes_less_than_before_may_have_been_seen_so() -> None:
    """Its slice changed before it was allocated; the scheduler knew one of both versions."""
    less = language.replaced(
        slices(2), '"slots": {"value": "2"}}}]}', '"slots": {"value": "1"}}}]}'
    )
    body = [*slices(), less[0], claim(3, "a", {"W": None}), claim(4, "b", {"H1": None})]
    assert judged(body).verdict is VALID
    over = [*slices(), claim(3, "a", {"W": None}), claim(4, "b", {"H1": None})]
    assert judged(over).verdict is INVALID
    later = [*over, *language.replaced(slices(5), '"value": "2"', '"value": "1"')[:1], gone(6, "a")]
    later += [claim(7, "a2", {"W": None})]
    assert judged(later).verdict is INVALID


# ------------------------------------------------------------- against an oracle


DEVICES = ["S", "X", *shared_devices.COUNTERS]


def _drawn(stream: random.Random) -> list[tuple[str, dict[str, int | None] | None]]:
    """Return what claims take, version by version; None: the claim is gone."""
    steps: list[tuple[str, dict[str, int | None] | None]] = []
    for _ in range(stream.randint(0, 12)):
        chosen = stream.sample(DEVICES, stream.randint(0, 2))
        taken = {name: stream.randint(1, 3) if name == "S" else None for name in chosen}
        steps.append((stream.choice(NAMES), None if stream.random() < 0.25 else taken))
    return steps


def _oracle(steps: list[tuple[str, dict[str, int | None] | None]]) -> set[tuple[str, int]]:
    """Add up each commit, and return the sums that are too large with their versions."""
    held: dict[str, dict[str, int | None]] = {}
    found = set()
    for rv, (name, taken) in enumerate(steps, start=2):
        held[name] = taken or {}
        memory = sum(devices.get("S") or 0 for devices in held.values())
        used = {device for devices in held.values() for device in devices}
        slots = sum(shared_devices.COUNTERS.get(device, 0) for device in used)
        if memory > shared_devices.MEMORY:
            found.add(("memory", rv))
        if slots > shared_devices.SLOTS:
            found.add(("counter", rv))
    return found


def test_the_judge_agrees_with_adding_up_every_version() -> None:
    def compare(seed: int) -> set[str]:
        steps = _drawn(random.Random(seed))
        body = [
            gone(rv, name) if taken is None else claim(rv, name, taken)
            for rv, (name, taken) in enumerate(steps, start=2)
        ]
        result = consumption(*body)
        found = {
            (violation.summary.split()[0], rv)
            for violation in result.violations
            for rv in _versions(violation, len(steps) + 1)
        }
        expected = _oracle(steps)
        assert found == expected, steps
        assert (result.verdict is INVALID) is bool(expected), steps
        return {kind for kind, _ in expected} or {"nothing"}

    brute_force.agree(compare, "memory", "counter", "nothing")


def _versions(violation: verdicts.Violation, last: int) -> range:
    begin = int(violation.summary.rpartition(" ")[2])
    is_open = "to the end of the history" in violation.text
    end = last + 1 if is_open else int(violation.text.partition(" until ")[2].partition(",")[0])
    return range(begin, end)


# ---------------------------------------------------------------------------- damage


@pytest.mark.parametrize("amount", ["lots", "1e999", "9" * 80])
def test_a_slice_without_sense_makes_the_evidence_unknown(
    tmp_path: pathlib.Path, amount: str
) -> None:
    broken = language.replaced(slices()[:1], "4Gi", amount)
    add = damages.changed(damages.observations, lambda body: [*body, *broken])
    judgement = judged_runs.judge(tmp_path, "a+D1", add)
    assert judgement.verdict is UNKNOWN
    assert "expected a quantity" in judgement.reason

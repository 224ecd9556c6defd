"""Histories of one line and what the check has to say about each: one row, one rule."""

import random
from typing import Any

import pytest

from harness.checks import device_exclusivity, findings, verdicts
from harness.checks.holds import claim_events, hold_history
from harness.checks.observed import observations
from tests.histories import language
from tests.support import text_tables

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID


def _check(text: str) -> verdicts.CheckResult:
    return device_exclusivity.check(hold_history.fold(language.observe(text)), lambda _: None)


def _overlaps(result: verdicts.CheckResult) -> str:
    """The double allocations as the table has them: their claims, from when, and until when."""
    return " ; ".join(
        f"{''.join(holder.name for holder in item.holders)} {item.overlap_from_rv}"
        + ("" if item.overlap_until_rv is None else f" {item.overlap_until_rv}")
        for item in verdicts.double_allocations([result])
    )


def _cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "exclusivity_cases.txt", part)


@pytest.mark.parametrize(("text", "expected"), _cases("double"))
def test_double_allocations_are_found(text: str, expected: str) -> None:
    result = _check(text)
    assert _overlaps(result) == expected
    assert result.verdict is INVALID
    assert result.violation_count == expected.count(";") + 1


@pytest.mark.parametrize("text", _cases("fine"))
def test_there_is_no_false_alarm(text: str) -> None:
    result = _check(text)
    assert (result.verdict, result.violations) == (VALID, [])
    assert result.examined_count > 0


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("a+D1 a~ b+D1 c+D2 d+D3!", VALID),
        ("a+D1 b+D1 c+D2 d+D3!", INVALID),
        ("a+D1 b+D1 c+D2 d+D3%", INVALID),
    ],
)
def test_allocations_and_devices_are_counted(text: str, verdict: verdicts.Verdict) -> None:
    result = _check(text)
    assert (result.verdict, result.examined_count) == (verdict, 3)
    assert "3 allocations of 2 devices" in result.reason
    assert ("1 double allocation of 1 device" in result.reason) is (verdict is INVALID)


@pytest.mark.parametrize("text", _cases("nothing"))
def test_nothing_examined_is_unknown(text: str) -> None:
    result = _check(text)
    assert (result.verdict, result.examined_count) == (UNKNOWN, 0)
    assert result.reason.startswith("no exclusive allocation of any device was observed")


def test_a_violation_says_everything_in_words() -> None:
    body = language.observe("a+D1 a^p b+D1 b^q b^r a~")
    body[4:7] = language.replaced(body[4:7], '"tests"', '"others"')  # of claim b
    found = device_exclusivity.check(hold_history.fold(body), lambda _: None)
    [violation] = verdicts.double_allocations([found])
    assert violation.text == (
        "Device gpu.example/pool/D1 was allocated to claim tests/a (uid uid-a) at resourceVersion 1, "
        "and again to claim others/b (uid uid-b) at resourceVersion 3, while the first still held it; "
        "both held it until resourceVersion 6. Pods: p and q, r."
    )
    assert violation.device == "gpu.example/pool/D1"
    assert violation.resource_versions == [1, 3, 6]
    named = [f"{item.kind} {item.namespace}/{item.name}" for item in violation.objects]
    claims, pods = ["tests/a", "others/b"], ["others/q", "others/r", "tests/p"]
    assert named == [*(f"ResourceClaim {it}" for it in claims), *(f"Pod {it}" for it in pods)]
    assert violation.holders == [
        verdicts.Holder(
            uid="uid-a",
            namespace="tests",
            name="a",
            held_from_rv=1,
            held_until_rv=6,
            pods=["p"],
            allocated_ts_ns=language.at(1),
            released_ts_ns=language.at(6),
        ),
        verdicts.Holder(
            uid="uid-b",
            namespace="others",
            name="b",
            held_from_rv=3,
            held_until_rv=None,
            pods=["q", "r"],
            allocated_ts_ns=language.at(3),
            released_ts_ns=None,
        ),
    ]


def _many(pairs: int) -> str:
    """As many transient double allocations, one after the other; the middle one is the longest."""
    words = []
    for index in range(pairs):
        pause = " ." * 5 if index == pairs // 2 else ""
        words.append(f"a{index}+D1 b{index}+D1{pause} a{index}-D1 b{index}-D1")
    return " ".join(words)


def test_counts_are_exact_and_lists_are_limited() -> None:
    pairs = findings.IN_FULL_MAX + findings.OTHERS_MAX + 30
    result = _check(_many(pairs))
    assert result.violation_count == pairs
    listed = [item.holders[0].name for item in verdicts.double_allocations([result])]
    first = [f"a{index}" for index in range(findings.IN_FULL_MAX)]
    assert listed == [*first, f"a{pairs // 2}", f"a{pairs - 1}"]
    assert len(result.others) <= findings.OTHERS_MAX
    assert f"gpu.example/pool/D1: a{len(first)} and b{len(first)}" in result.others[0]
    assert not {f"a{pairs // 2} and" in line for line in result.others} & {True}


@pytest.mark.parametrize(
    ("text", "offered", "verdict", "examined"),
    [
        ("a+D1% b+D1%", True, verdicts.Verdict.VALID, 2),
        ("a+D1% b+D1", True, verdicts.Verdict.INVALID, 2),
        ("a+D1% b+D1%", False, verdicts.Verdict.INVALID, 2),
        ("a+D1% b+D1", None, verdicts.Verdict.VALID, 1),
    ],
)
def test_shares_overlap_with_shares_of_offered_devices_only(
    text: str, offered: bool | None, verdict: verdicts.Verdict, examined: int
) -> None:
    folded = hold_history.fold(language.observe(text))
    result = device_exclusivity.check(folded, lambda device: offered)
    assert (result.verdict, result.examined_count) == (verdict, examined)


@pytest.mark.parametrize(
    ("text", "device", "again"),
    [
        ("a+D1% b+D1", "A share of device", "and again to claim tests/b"),
        ("a+D1 b+D1%", "Device", "and a share of it to claim tests/b"),
        ("a=D1,D2% b=D1,D2%", "Device", "and again to claim tests/b"),
    ],
)
def test_a_violation_tells_shares_from_whole_devices(text: str, device: str, again: str) -> None:
    body = language.replaced(language.observe(text), '"D2"', '"D1"')
    folded = hold_history.fold(body)
    [violation] = verdicts.double_allocations([device_exclusivity.check(folded, lambda _: True)])
    assert violation.text.startswith(f"{device} gpu.example/pool/D1 was allocated to claim tests/a")
    assert again in violation.text


def test_pods_are_told_in_order() -> None:
    names = [f"p{number}" for number in range(10)]
    [violation] = verdicts.double_allocations(
        [_check(" ".join(["a+D1", *(f"a^{name}" for name in reversed(names)), "b+D1"]))]
    )
    assert violation.holders[0].pods == names
    assert [item.name for item in violation.objects if item.kind == "Pod"] == names
    assert f"Pods: {', '.join(names)} and none yet." in violation.text


@pytest.mark.parametrize("known", [claim_events.PARTS_MAX, 4])
def test_none_is_missed_among_more_allocations_than_are_kept_decoded(
    monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    """Of those decoded again, one may have the identity that another one had."""
    monkeypatch.setattr(observations, "BYTES_MAX", 0)
    monkeypatch.setattr(claim_events, "PARTS_MAX", known)
    stream = random.Random(1)  # with a period, each might have the identity of an equal one
    words = [f"{stream.choice('ab')}=D7{known}{stream.randrange(9)}" for _ in range(300)]
    body = language.observe(" ".join(words))  # no other test has left these devices decoded
    found = device_exclusivity.check(hold_history.fold(iter(body)), lambda _: None)
    monkeypatch.undo()
    assert found == device_exclusivity.check(hold_history.fold(iter(body)), lambda _: None)
    assert found.violation_count > 9

"""Folding against a walk through the truth of random histories, which knows no intervals."""

import json
import random
from collections.abc import Iterator

import pandas as pd
import pytest

from harness.checks.holds import double_allocations, hold_history, live_spotter
from harness.history import records
from tests.histories import dense_histories, hold_lists, language
from tests.support import brute_force


def _occupied(folded: hold_history.HoldHistory) -> dense_histories.Occupancy:
    occupied: dense_histories.Occupancy = {}
    for hold in folded.holds:
        until = folded.last_rv + 1 if hold.until_rv is None else hold.until_rv
        for rv in range(hold.from_rv, until):
            if hold.exclusive:
                occupied.setdefault((hold.device, rv), set()).add(hold.uid)
    return occupied


def _found(folded: hold_history.HoldHistory) -> set[tuple[str, frozenset[str]]]:
    holds = [hold for hold in folded.holds if hold.exclusive]
    frame = hold_lists.columns(holds).frame(end_rv=folded.last_rv + 1).assign(share=False)
    pairs = pd.concat(double_allocations.conflicts(frame))
    return {
        (holds[first].device, frozenset((holds[first].uid, holds[second].uid)))
        for first, second in zip(pairs["first"], pairs["second"], strict=True)
    }


# ------------------------------------------------------------------------------- random histories


def _drawn(*, gaps: float) -> Iterator[tuple[random.Random, str]]:
    for seed in range(brute_force.HISTORIES // 10):
        stream = random.Random(seed)
        yield stream, dense_histories.draw(stream, stream.randrange(17), gaps=gaps)


def test_holds_are_what_a_walk_through_the_truth_sees() -> None:
    for _, text in _drawn(gaps=0):
        body, occupied = language.observe(text), dense_histories.occupied(text)
        folded = hold_history.fold(body)
        assert _occupied(folded) == occupied, text
        assert _found(folded) == dense_histories.doubles(text), text
        first = min((rv for (_, rv), uids in occupied.items() if len(uids) > 1), default=0)
        device, *claims = _spotted(body) or ("",)
        assert (claims != []) is (first > 0), text
        assert set(claims) <= occupied[device, first], text


def _spotted(body: list[records.Body]) -> tuple[str, str, str] | None:
    spotter = live_spotter.Spotter()
    for item in body:
        if isinstance(item, records.Observation) and item.resource == language.CLAIMS:
            obj = json.loads(bytes(item.object))
            spotter.note(obj["metadata"]["uid"], None if item.type == "DELETED" else obj)
    return spotter.found


def test_neither_a_gap_nor_a_record_that_breaks_off_makes_a_false_alarm() -> None:
    for stream, text in _drawn(gaps=0.25):
        body, truth = language.observe(text), dense_histories.doubles(text)
        assert _found(hold_history.fold(body)) <= truth, text
        assert _found(hold_history.fold(body[: stream.randrange(len(body))])) <= truth, text


# -------------------------------------------------------------------------------------- details


def _fold(text: str) -> hold_history.HoldHistory:
    return hold_history.fold(language.observe(text))


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a+D1 . . a~ .", [("D1", 1, 4)]),  # it ends with the deletion
        ("a+D1 . [ . a-D1 . ]", [("D1", 1, 3)]),  # in a gap it ends as early as can be
        ("a+D1 . [ . a~ . ]", [("D1", 1, 3)]),
        ("[ a+D1 . a^p . ]", [("D1", 3, None)]),  # and begins as late as can be
        ("a+D1 [ . ] a-D1", [("D1", 1, 3)]),
        ("a=D1,D2 a=D2,D3 a=D3", [("D1", 1, 2), ("D2", 1, 3), ("D3", 2, None)]),
        ("a+D1 b= a-D1 [ b~ ] c+D1", [("D1", 1, 3), ("D1", 5, None)]),
    ],
)
def test_the_versions_of_a_hold(text: str, spans: list[tuple[str, int, int | None]]) -> None:
    holds = _fold(text).holds
    assert [(hold.device[-2:], hold.from_rv, hold.until_rv) for hold in holds] == spans


def test_a_relist_that_breaks_off_proves_nothing_about_the_claims_it_did_not_come_to() -> None:
    observations = language.observe("a+D1 [ c+D2 b+D1 a-D1 c~ ]")
    listed = [i for i, item in enumerate(observations) if getattr(item, "type", "") == "LISTED"]
    second = observations[listed[1]]
    folded = hold_history.fold([*observations[: listed[0]], second])
    assert [(hold.uid, hold.from_rv, hold.until_rv) for hold in folded.holds] == [
        ("uid-a", 1, 2),
        ("uid-b", 3, None),
    ]


def test_a_device_that_a_claim_has_exclusively_and_as_admin_is_held_exclusively() -> None:
    body = language.replaced(language.observe("a=D1,D2!"), '"D2"', '"D1"')
    [hold] = hold_history.fold(body).holds
    assert hold.exclusive


def test_pods_are_those_it_was_reserved_for_while_it_held_the_device() -> None:
    [first, second] = _fold("a^old a+D1 a^p a-D1 a+D1").holds
    assert first.pods == second.pods == {"old", "p"}
    groups = language.replaced(language.observe("a+D1 a^p"), '"pods"', '"podgroups"')
    holds = hold_history.fold([*language.observe("b+D2 b^q"), *groups]).holds
    assert [hold.pods for hold in holds] == [{"q"}, set()]


def test_lives_keep_the_first_times() -> None:
    folded = _fold("a= a+D1 a-D1 a+D1 p* a~ q:a q>n r$")
    claim = folded.claims["uid-a"]
    assert (claim.seen_ns, claim.ready_ns, claim.gone_ns) == tuple(map(language.at, (1, 2, 6)))
    assert folded.pods["uid-p"].ready_ns == language.at(5)
    assert folded.pods_running == 1


def test_streams_know_what_was_listed_and_what_is_left() -> None:
    folded = _fold("a+D1 b+D2 a~ . p*")
    claims = folded.stream(language.CLAIMS)
    assert claims.has_first_list
    assert claims.has_final_list
    assert claims.live == claims.final == {"uid-b": 2}
    assert (claims.observed, folded.last_rv) == (3, 5)
    assert not folded.stream("never-heard-of").has_first_list
    assert _fold("a+D1 b+D2 [ a~ ]").stream(language.CLAIMS).live == {"uid-b": 2}


def test_holds_that_were_asked_for_do_not_outlast_a_list_without_their_claim() -> None:
    folded = _fold("a+D1")
    assert folded.holds.open_count == 1
    folded.see_gap(language.gap(language.CLAIMS, 1))
    folded.see_list(language.listed(language.CLAIMS, "relist", 3))
    assert folded.holds.open_count == 0


# ------------------------------------------------------------------------------------- order


def test_without_final_lists_holds_last_to_the_newest_event() -> None:
    """The recorder was killed: only the events tell how far the history goes."""
    events = [
        record
        for record in language.observe("p:a a+D1 . b+D1")
        if getattr(record, "purpose", "first") == "first" and getattr(record, "type", "") != "FINAL"
    ]
    folded = hold_history.fold(events)
    assert folded.last_rv == hold_history.fold(events[::-1]).last_rv == 4
    assert _found(folded) == {("gpu.example/pool/D1", frozenset({"uid-a", "uid-b"}))}


def test_the_history_goes_on_to_the_revision_of_the_newest_list() -> None:
    assert hold_history.fold([language.listed(language.CLAIMS, "final", 7)]).last_rv == 7
    older = [*language.observe("a+D1 . . b+D1"), language.listed("nodes", "final", 2)]
    assert hold_history.fold(older).last_rv == 4


def test_a_version_before_that_of_a_list_comes_too_late_after_it() -> None:
    first, second, third = (
        item
        for item in language.observe("a+D1 b+D2 . c+D3")
        if getattr(item, "type", "") == "ADDED"
    )
    folded = hold_history.fold([language.listed(language.CLAIMS, "first", 2), first, second, third])
    assert folded.stream(language.CLAIMS).disordered == [1]
    again = [first, language.listed(language.CLAIMS, "relist", 4), third]
    assert hold_history.fold(again).stream(language.CLAIMS).disordered == [4]
    older = hold_history.fold([first, third, language.listed(language.CLAIMS, "relist", 1), second])
    assert older.stream(language.CLAIMS).disordered == [2]

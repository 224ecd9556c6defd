"""The holds that are certain although observations are in doubt, to the revision."""

from collections.abc import Callable

import msgspec
import pytest

from harness.checks.evidence import certain_holds, contradictions
from harness.checks.observed import observations
from harness.history import records
from tests.histories import language

Body = list[records.Body]
Holds = set[tuple[str, str, int, int | None]]
"""Claim, device, first revision, revision of the end; None: to the end of the history."""


def _certain(body: Body, found: contradictions.Contradictions | None = None) -> Holds:
    folded = certain_holds.fold(body, found or contradictions.Contradictions())
    return {
        (hold.name, hold.device.rpartition("/")[2], hold.from_rv, hold.until_rv)
        for hold in folded.holds
    }


def _doubting(
    *, uid: str = "", from_rv: int, resource: str = observations.CLAIMS
) -> contradictions.Contradictions:
    found = contradictions.Contradictions()
    found.doubt(resource=resource, uid=uid, from_rv=from_rv)
    return found


def _at(body: Body, rv: int) -> records.Observation:
    [found] = [
        item
        for item in body
        if isinstance(item, records.Observation)
        and item.resource_version == rv
        and item.type not in ("LISTED", "FINAL")
    ]
    return found


def _moved(body: Body, rv: int, to: int) -> records.Observation:
    return msgspec.structs.replace(_at(body, rv), resource_version=to)


TEXT = "a+D1 b+D2 a-D1 a~ b-D2 c+D3"
SOUND = {("a", "D1", 1, 3), ("b", "D2", 2, 5), ("c", "D3", 6, None)}


@pytest.mark.parametrize(
    "edit",
    [list, lambda body: body[::-1], lambda body: [*body, *body]],
    ids=["sound", "reversed", "twice"],
)
def test_neither_the_order_nor_copies_matter(edit: Callable[[Body], Body]) -> None:
    assert _certain(edit(language.observe(TEXT))) == SOUND


def test_two_claims_at_one_revision_dispute_their_whole_lives() -> None:
    body = language.observe("a+D1 c+D3 b+D2 a^p b^q")
    assert _certain([*body, _moved(body, 3, 1)]) == {("c", "D3", 2, None)}


def test_two_observations_of_a_claim_at_one_revision_dispute_this_revision() -> None:
    body = language.observe("a+D1 a^p c+D3 a^q a-D1")
    assert _certain([*body, _moved(body, 4, 2)]) == {
        ("a", "D1", 1, 2),
        ("a", "D1", 4, 5),
        ("c", "D3", 3, None),
    }


def test_an_observation_after_the_deletion_puts_all_claims_in_doubt() -> None:
    body = language.observe("a+D1 a~ b+D2 . b^p")
    assert _certain([*body, _moved(body, 1, 4)]) == {
        ("a", "D1", 1, 2),
        ("b", "D2", 3, 4),
        ("b", "D2", 5, None),
    }


def test_after_a_gap_the_claims_of_the_list_are_certain_at_its_version() -> None:
    body = language.observe("a+D1 b+D2 [ . b-D2 . ] . a^p")
    assert _certain(body) == {("a", "D1", 1, 3), ("b", "D2", 2, 3), ("a", "D1", 5, None)}


def test_a_list_shows_many_claims_at_one_version() -> None:
    body = language.observe("a+D1 b+D2 [ . . ] .")
    assert {hold for hold in _certain(body) if hold[3] is None} == {
        ("a", "D1", 4, None),
        ("b", "D2", 4, None),
    }


def test_gaps_of_other_resources_leave_claims_certain() -> None:
    body = language.observe(TEXT)
    gap = records.Gap(resource="pods", after_resource_version=1, reason="410", ts_ns=0)
    assert _certain([gap, *body]) == SOUND


def test_a_doubted_claim_is_certain_again_from_its_next_observation_on() -> None:
    body = language.observe("a+D1 b+D2 a^p")
    expected = {("a", "D1", 3, None), ("b", "D2", 2, None)}
    assert _certain(body, _doubting(uid="uid-a", from_rv=1)) == expected


def test_a_claim_in_doubt_for_its_whole_life_is_never_certain() -> None:
    body = language.observe("a+D1 b+D2 a^p")
    assert _certain(body, _doubting(uid="uid-a", from_rv=0)) == {("b", "D2", 2, None)}


@pytest.mark.parametrize("resource", [observations.CLAIMS, contradictions.EVERY])
def test_a_doubt_about_all_claims_ends_all_holds(resource: str) -> None:
    body = language.observe("a+D1 . b+D2 b^p a^q")
    assert _certain(body, _doubting(from_rv=3, resource=resource)) == {
        ("a", "D1", 1, 3),
        ("b", "D2", 4, None),
        ("a", "D1", 5, None),
    }


def test_a_doubt_about_other_objects_ends_none() -> None:
    assert _certain(language.observe(TEXT), _doubting(from_rv=2, resource="pods")) == SOUND


@pytest.mark.parametrize(
    ("end_rv", "expected"),
    [
        (3, {("a", "D1", 1, 3)}),
        (4, {("a", "D1", 1, 4), ("b", "D2", 3, 4)}),
        (6, {("a", "D1", 1, None), ("b", "D2", 3, None), ("c", "D3", 5, None)}),
    ],
)
def test_nothing_is_certain_after_too_many_doubts(end_rv: int, expected: Holds) -> None:
    found = contradictions.Contradictions()
    found.end_rv = end_rv
    assert _certain(language.observe("a+D1 . b+D2 . c+D3"), found) == expected


@pytest.mark.parametrize(("spare", "is_certain"), [(0, True), (-1, False)])
def test_of_too_many_observations_nothing_is_certain(
    monkeypatch: pytest.MonkeyPatch, spare: int, is_certain: bool
) -> None:
    body = language.observe(TEXT)
    size = sum(
        len(item.object)
        for item in body
        if isinstance(item, records.Observation) and item.type != "FINAL"
    )
    monkeypatch.setattr(certain_holds, "BYTES_MAX", size + spare)
    assert _certain(body) == (SOUND if is_certain else set())

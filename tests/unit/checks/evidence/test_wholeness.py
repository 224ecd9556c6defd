"""Contradictions between the records of a whole run: lists, writes and revisions."""

from unittest import mock

import msgspec
import pytest

from harness.checks.evidence import observed_versions, wholeness
from harness.checks.holds import hold_history
from harness.checks.observed import folders
from harness.history import records
from tests.histories import language
from tests.support import cases

Body = list[records.Body]


def _whole(body: Body) -> wholeness.Wholeness:
    found, history = wholeness.Wholeness(), hold_history.HoldHistory()
    folders.fold(body, history, found)
    found.conclude({hold_history.HoldHistory: history})
    return found


def _listed(body: Body, resource: str, purpose: str) -> records.Listed:
    [found] = [
        item
        for item in body
        if isinstance(item, records.Listed) and (item.resource, item.purpose) == (resource, purpose)
    ]
    return found


# ------------------------------------------------------------------------------- revisions


@pytest.mark.parametrize(("seen", "expected"), cases.read(__file__, "revisions"))
def test_a_revision_that_is_missing(seen: list[int], expected: str) -> None:
    whole = wholeness.Wholeness(is_dense=True)
    for rv in seen:
        whole.observed.add("uid", rv)
    whole.see_gap(language.gap("leases", 4))  # without a list
    for purpose, version, earlier_or_later in (("first", 3, 1), ("final", 7, 9)):
        whole.see_list(language.listed("nodes", purpose, earlier_or_later))
        whole.see_list(language.listed("pods", purpose, version))
    whole.conclude({hold_history.HoldHistory: hold_history.HoldHistory()})
    assert whole.found.answer(wholeness.DENSE) == expected
    assert whole.found.are_holds_in_doubt is bool(expected)


@pytest.mark.parametrize(("listed", "doubtful"), [(0, True), (5, True), (7, False)])
def test_revisions_in_a_gap_of_the_claims_put_no_hold_in_doubt(listed: int, doubtful: bool) -> None:
    whole = wholeness.Wholeness(is_dense=True)
    whole.see_list(language.listed(language.CLAIMS, "first", 3))
    if listed:
        whole.see_gap(language.gap(language.CLAIMS, 3))
        whole.see_list(language.listed(language.CLAIMS, "relist", listed))
    whole.see_list(language.listed(language.CLAIMS, "final", 7))
    whole.conclude({hold_history.HoldHistory: hold_history.HoldHistory()})
    assert whole.found.answer(wholeness.DENSE) == "the revisions 4 to 7 were not observed"
    assert whole.found.are_holds_in_doubt is doubtful


@pytest.mark.parametrize(("text", "lost", "count", "doubtful"), cases.read(__file__, "lost"))
def test_the_final_list_shows_what_lives(
    text: str, lost: list[str], count: int, doubtful: bool
) -> None:
    body = [
        item
        for item in language.observe(text)
        if getattr(item, "type", getattr(item, "purpose", "")) not in lost
    ]
    found = _whole(body).found
    assert found.count("final-objects") == count
    assert found.are_holds_in_doubt is doubtful


# ---------------------------------------------------------------------------------- writes


def _versions(*versions: tuple[str, int]) -> observed_versions.Versions:
    made = observed_versions.Versions()
    for uid, rv in versions:
        made.add(uid, rv)
    return made


def test_versions_above_and_below_all_known_ones_are_missing() -> None:
    wanted = _versions(("u", 2), ("u", 3), ("u", 5), ("u", 7), ("u", 9))
    known = _versions(("u", 7), ("u", 5), ("u", 3)).digests
    lost = {observed_versions.digest("u", version) for version in (2, 9)}
    assert observed_versions.missing(wanted.digests, known) == lost
    late = observed_versions.missing(wanted.digests, known, where=wanted.numbers() > 2)
    assert late == {observed_versions.digest("u", 9)}
    assert observed_versions.missing(known, _versions().digests) == set(known)
    assert observed_versions.missing(_versions().digests, known) == set()


def test_writes_are_looked_for_after_all_first_lists() -> None:
    body = language.observe("p:a p~ a+D1 b+D2")
    listed = _listed(body, language.PODS, "first")
    later = msgspec.structs.replace(listed, resource_version=2)
    seen = [
        item
        for item in body
        if not isinstance(item, records.Observation) or item.resource == language.CLAIMS
    ]
    whole = _whole([later if item is listed else item for item in seen])
    history = mock.Mock()
    history.expected_operations.return_value = history.expected_writes.return_value = ()
    whole.require_writes(_versions(("uid-p", 1), ("uid-a", 3)), history=history)
    assert not history.expected_operations.called
    whole.require_writes(_versions(("uid-p", 3)), history=history)
    assert history.expected_operations.called, "the journals are read again for the name"

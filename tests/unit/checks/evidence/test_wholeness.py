"""Contradictions between the records of a whole run: lists, writes and revisions."""

import string
from typing import Any

import msgspec
import pytest

from harness.checks.evidence import (
    acknowledged_writes,
    contradictions,
    object_lives,
    observed_versions,
    wholeness,
)
from harness.checks.observed import folders
from harness.history import records
from tests.histories import language

Body = list[records.Body]


def _whole(body: Body) -> wholeness.Wholeness:
    found = wholeness.Wholeness()
    folders.fold(body, found)
    found.conclude({})
    return found


def _listed(body: Body, resource: str, purpose: str) -> records.Listed:
    [found] = [
        item
        for item in body
        if isinstance(item, records.Listed) and (item.resource, item.purpose) == (resource, purpose)
    ]
    return found


def _without(body: Body, *left_out: records.Body) -> Body:
    return [item for item in body if item not in left_out]


# ----------------------------------------------------------------------------------- lists


def test_an_object_that_was_never_deleted_is_missed_in_the_final_list() -> None:
    body = language.observe("a+D1 b+D2")
    final = [
        item for item in body if isinstance(item, records.Observation) and item.type == "FINAL"
    ]
    assert "uid uid-a were never deleted" in _whole(_without(body, final[0])).found.answer(
        object_lives.FINAL
    )


def test_without_a_final_list_no_object_is_missed_in_it() -> None:
    body = language.observe("a+D1 b+D2")
    final = [
        item
        for item in body
        if (isinstance(item, records.Observation) and item.type == "FINAL")
        or (isinstance(item, records.Listed) and item.purpose == "final")
    ]
    assert _whole(_without(body, *final)).found.count(object_lives.FINAL) == 0


def test_a_list_after_a_gap_shows_the_newest_versions() -> None:
    names = string.ascii_lowercase[:12]
    made = " ".join(f"{name}=" for name in names)
    changed = " ".join(f"{name}^p" for name in names)
    whole = _whole(language.observe(f"{made} [ {changed} ]"))
    assert whole.found.count(object_lives.LAWFUL) == whole.found.count(object_lives.FINAL) == 0


def test_an_event_that_comes_again_is_noticed_of_each_object() -> None:
    names = string.ascii_lowercase[:12]
    body = language.observe(" ".join(f"{name}= {name}^p" for name in names))
    again = [
        item for item in body if isinstance(item, records.Observation) and item.type == "MODIFIED"
    ]
    assert len(again) == len(names)
    assert _whole([*body, *again]).found.count(object_lives.LAWFUL) == len(names)


def _uid(item: records.Observation) -> str:
    uid: str = msgspec.json.decode(item.object)["metadata"]["uid"]
    return uid


def test_what_is_older_in_a_list_is_not_the_newest_version() -> None:
    names = string.ascii_lowercase[:12]
    made = " ".join(f"{name}= {name}^p" for name in names)
    body = language.observe(f"{made} [ . ]")
    old = {
        _uid(item): msgspec.structs.replace(item, type="LISTED")
        for item in body
        if isinstance(item, records.Observation) and item.type == "ADDED"
    }

    def aged(item: records.Body) -> records.Body:
        if isinstance(item, records.Observation) and item.type == "LISTED":
            return old[_uid(item)]
        return item

    whole = _whole([aged(item) for item in body])
    assert whole.found.count(object_lives.LAWFUL) == len(names)
    assert whole.found.count(object_lives.FINAL) == 0


# ------------------------------------------------------------------------------- revisions


@pytest.mark.parametrize(
    ("first", "final", "expected"),
    [
        ([3, 5], [9, 7], (5, 7)),
        ([5], [3], (5, 5)),
        ([], [], (0, 0)),
        ([], [4], (0, 4)),
        ([4], [], (4, 4)),
    ],
)
def test_every_commit_was_observed_between_all_lists(
    first: list[int], final: list[int], expected: tuple[int, int]
) -> None:
    assert wholeness.between(first, final) == expected


@pytest.mark.parametrize(
    ("seen", "expected", "from_rv"),
    [
        ([4, 5, 6, 7], "", None),
        ([3, 4, 5, 6, 7, 8], "", None),
        ([5, 6, 7], "revision 4 was not observed", 4),
        ([4, 5, 6], "revision 7 was not observed", 7),
        ([4, 7], "the revisions 5 to 6 were not observed", 5),
        ([], "the revisions 4 to 7 were not observed", 4),
    ],
)
def test_a_revision_that_is_missing(seen: list[int], expected: str, from_rv: int | None) -> None:
    observed, found = observed_versions.NumberedVersions(), contradictions.Contradictions()
    for rv in seen:
        observed.add("uid", rv)
    wholeness.require_dense(found, observed, (3, 7))
    assert found.answer(wholeness.DENSE) == expected
    assert [doubt.from_rv for doubt in found.doubts] == ([] if from_rv is None else [from_rv])


# ---------------------------------------------------------------------------------- writes


def _versions(*versions: tuple[str, int]) -> observed_versions.NumberedVersions:
    made = observed_versions.NumberedVersions()
    for uid, rv in versions:
        made.add(uid, rv)
    return made


def test_without_versions_there_are_no_numbers() -> None:
    assert len(_versions().numbers()) == 0


def test_numbers_above_and_below_all_known_ones_are_not_among_them() -> None:
    wanted = _versions(("u", 2), ("u", 3), ("u", 5), ("u", 7), ("u", 9)).numbers()
    known = _versions(("u", 7), ("u", 5), ("u", 3)).numbers()
    assert observed_versions.are_among(wanted, known).tolist() == [False, True, True, True, False]
    assert not observed_versions.are_among(wanted, known[:0]).any()


def test_writes_are_looked_for_after_a_version() -> None:
    written, observed = _versions(("u", 5), ("u", 6), ("u", 7)), _versions(("u", 7))
    missing = acknowledged_writes.missing(written, observed, since_rv=5)
    assert missing == {observed_versions.digest("u", 6)}


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
    unread: Any = None
    whole.require_writes(_versions(("uid-p", 1), ("uid-a", 3)), history=unread)
    with pytest.raises(AttributeError, match="expected_operations"):  # it looks for the name
        whole.require_writes(_versions(("uid-p", 3)), history=unread)

"""Which lists do not fit what surrounds them, and from which version on that puts all in doubt."""

from collections.abc import Sequence
from typing import Any

import pytest

from harness.checks.evidence import contradictions, recorded_lists
from harness.checks.observed import observations, observed_pods
from harness.history import records

Step = tuple[Any, ...]
"""A list with its purpose, version and count; a gap with its version; or an event with its own."""


def follow(steps: Sequence[Step]) -> contradictions.Contradictions:
    """Follow the steps; return what was found."""
    found = contradictions.Contradictions()
    lists = recorded_lists.RecordedLists(observations.PODS, found)
    for word, version, *more in steps:
        if word in ("first", "relist", "final"):
            lists.begin(
                records.Listed(
                    resource=observations.PODS,
                    purpose=word,
                    resource_version=version,
                    count=more[0],
                    ts_ns=version,
                )
            )
        elif word == "gap":
            lists.gap(
                records.Gap(
                    resource=observations.PODS,
                    after_resource_version=version,
                    reason="410",
                    ts_ns=version,
                )
            )
        else:
            lists.observe(_seen(word, version))
    lists.end()
    return found


def _seen(kind: Any, version: int) -> observations.SeenAny:
    meta = observed_pods.PodMeta(name="p", uid="u", resource_version=str(version))
    return observations.Seen(
        resource=observations.PODS,
        type=kind,
        version=version,
        ts_ns=version,
        object=observed_pods.Pod(metadata=meta),
    )


FITTING: dict[str, list[Step]] = {
    "nothing": [],
    "an empty list": [("first", 1, 0)],
    "lists and events": [
        ("first", 3, 2),
        ("LISTED", 1),
        ("LISTED", 3),
        ("ADDED", 4),
        ("DELETED", 6),
        ("final", 6, 1),
        ("FINAL", 4),
    ],
    "a gap and a list after it": [
        ("first", 3, 0),
        ("ADDED", 4),
        ("gap", 4),
        ("relist", 9, 1),
        ("LISTED", 4),
        ("MODIFIED", 10),
        ("final", 10, 0),
    ],
    "a gap right after a list": [("first", 3, 0), ("gap", 3), ("relist", 3, 0), ("ADDED", 4)],
    "lists of one version": [("first", 3, 0), ("final", 3, 0)],
}


@pytest.mark.parametrize("steps", FITTING.values(), ids=FITTING)
def test_lists_that_fit_are_not_disputed(steps: list[Step]) -> None:
    assert follow(steps).is_empty


FIRST: Step = ("first", 3, 0)
WRONG: dict[str, tuple[list[Step], str, list[int]]] = {
    # The steps, the first contradiction, and the versions from which all objects are in doubt.
    "too few objects": (
        [("first", 3, 2), ("LISTED", 1), ("ADDED", 4)],
        "pods: the first list at 3 says 2 objects, but 1 follow",
        [4],
    ),
    "too few objects at the end": (
        [FIRST, ("final", 5, 1)],
        "pods: the final list at 5 says 1 objects, but 0 follow",
        [6],
    ),
    "too few objects before another list": (
        [("first", 3, 1), ("gap", 3), ("relist", 9, 0)],
        "pods: the first list at 3 says 1 objects, but 0 follow",
        [4],
    ),
    "too many objects": (
        [FIRST, ("LISTED", 1), ("ADDED", 4), ("MODIFIED", 5)],
        "pods: the first list at 3 says 0 objects, but 1 follow",
        [4],
    ),
    "an object that is newer than its list": (
        [("first", 3, 1), ("LISTED", 4)],
        "pods: pods p at 4 is in a list of version 3",
        [4],
    ),
    "an object of another list": (
        [("first", 3, 1), ("FINAL", 3)],
        "pods: pods p at 3 is FINAL, but in no such list",
        [4],
    ),
    "an object without a list": (
        [("LISTED", 3)],
        "pods: pods p at 3 is LISTED, but in no such list",
        [1],
    ),
    "an object between events": (
        [FIRST, ("ADDED", 4), ("LISTED", 3), ("MODIFIED", 5)],
        "pods: the first list at 3 says 0 objects, but 1 follow",
        [5],
    ),
    "an old list": (
        [FIRST, ("ADDED", 9), ("final", 8, 0)],
        "pods: the final list at 8 is older than version 9 before it",
        [10],
    ),
    "an old list, and an event after it": (
        [FIRST, ("ADDED", 9), ("gap", 9), ("relist", 8, 0), ("ADDED", 10)],
        "pods: the relist list at 8 is older than version 9 before it",
        [10],
    ),
    "a gap before events that were there": (
        [FIRST, ("ADDED", 9), ("gap", 8), ("relist", 9, 0)],
        "pods: the gap after 8 comes after version 9",
        [10],
    ),
    "a list in a gap that is too old": (
        [FIRST, ("ADDED", 9), ("gap", 9), ("gap", 5), ("relist", 9, 0)],
        "pods: the gap after 5 comes after version 9",
        [10],
    ),
    "an event in a gap": (
        [FIRST, ("ADDED", 4), ("gap", 6), ("ADDED", 9), ("relist", 9, 0)],
        "pods: pods p at 9 came in a gap, before the list after it",
        [7],
    ),
    "an event in a gap that ends the run": (
        [FIRST, ("gap", 3), ("final", 8, 0), ("ADDED", 9)],
        "pods: pods p at 9 came after the final list",
        [9],
    ),
    "events before the first list": (
        [("ADDED", 4), ("MODIFIED", 5), ("first", 6, 0)],
        "pods: pods p at 4 came before the first list",
        [1],
    ),
    "an event after the final list": (
        [FIRST, ("final", 5, 0), ("ADDED", 6)],
        "pods: pods p at 6 came after the final list",
        [6],
    ),
    "a list after the final one": (
        [FIRST, ("final", 5, 0), ("gap", 5), ("relist", 6, 0)],
        "pods: a relist list came after the final one",
        [6],
    ),
    "two first lists": ([FIRST, ("first", 4, 0)], "pods: there are two first lists", [4]),
    "a list without a gap": (
        [FIRST, ("ADDED", 4), ("relist", 5, 0)],
        "pods: the list at 5 follows no gap",
        [5],
    ),
    "two lists after a gap": (
        [FIRST, ("gap", 3), ("relist", 4, 0), ("relist", 5, 0)],
        "pods: the list at 5 follows no gap",
        [5],
    ),
}


@pytest.mark.parametrize(("steps", "text", "doubts"), WRONG.values(), ids=WRONG)
def test_a_list_that_does_not_fit_puts_all_in_doubt(
    steps: list[Step], text: str, doubts: list[int]
) -> None:
    found = follow(steps)
    assert found.answer("lists").removeprefix(f"{found.count('lists')}, first: ") == text
    assert [doubt.from_rv for doubt in found.doubts] == doubts
    assert {(doubt.resource, doubt.uid) for doubt in found.doubts} == {("pods", "")}
    assert found.count("order") == 0


@pytest.mark.parametrize(("version", "after"), [(3, 3), (2, 3), (9, 9), (8, 9)])
def test_events_come_in_the_order_of_their_versions(version: int, after: int) -> None:
    before = [("ADDED", 9)] if after == 9 else []
    found = follow([FIRST, *before, ("MODIFIED", version)])
    assert found.answer("order") == f"pods p at {version} came after {after}"
    assert found.doubts == []


def test_the_versions_of_the_lists_are_known() -> None:
    found = contradictions.Contradictions()
    lists = recorded_lists.RecordedLists(observations.PODS, found)
    assert (lists.first_rv, lists.final_rv, lists.count) == (None, None, 0)
    for purpose, version in (("first", 3), ("first", 4), ("final", 5)):
        lists.begin(
            records.Listed(
                resource=observations.PODS,
                purpose=purpose,  # type: ignore[arg-type]
                resource_version=version,
                count=0,
                ts_ns=1,
            )
        )
    assert (lists.first_rv, lists.final_rv, lists.count) == (3, 5, 3)

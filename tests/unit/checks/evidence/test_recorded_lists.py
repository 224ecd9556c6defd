"""Which lists do not fit what surrounds them."""

import itertools
from typing import Any

import pytest

from harness.checks.evidence import contradictions, recorded_lists
from harness.checks.observed import folders, observations, observed_pods
from tests.histories import language
from tests.support import text_tables


def follow(steps: str, resource: str = observations.PODS) -> contradictions.Contradictions:
    """Follow the steps, as in recorded_lists.txt; return what was found."""
    found = contradictions.Contradictions()
    lists = recorded_lists.RecordedLists(resource, found)
    for is_seen, group in itertools.groupby(steps.split(), lambda step: step[0].isupper()):
        if is_seen:
            seen = [_seen(word, int(version)) for word, version in (it.split(":") for it in group)]
            lists.observe_all(folders.Batch(seen))
            continue
        for word, version, *count in (step.split(":") for step in group if step != ";"):
            if count:
                lists.begin(language.listed(resource, word, int(version), int(*count)))
            else:
                lists.gap(language.gap(resource, int(version)))
    lists.require_whole()
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


def cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "recorded_lists.txt", part)


@pytest.mark.parametrize("steps", cases("fitting"))
def test_lists_that_fit_are_not_disputed(steps: str) -> None:
    found = follow(steps)
    assert not found.count("lists")
    assert not found.count("order")


@pytest.mark.parametrize(("steps", "text"), cases("wrong"))
def test_a_list_that_does_not_fit_is_named(steps: str, text: str) -> None:
    found = follow(steps)
    assert found.answer("lists").removeprefix(f"{found.count('lists')}, first: ") == text
    assert found.count("order") == 0


@pytest.mark.parametrize(("version", "after"), [(3, 3), (2, 3), (9, 9), (8, 9)])
def test_events_come_in_the_order_of_their_versions(version: int, after: int) -> None:
    found = follow(f"first:3:0 {'ADDED:9' if after == 9 else ''} MODIFIED:{version}")
    assert found.answer("order") == f"pods p at {version} came after {after}"


@pytest.mark.parametrize(("resource", "steps", "doubt"), cases("holds"))
def test_lists_put_holds_in_doubt(resource: str, steps: str, doubt: str) -> None:
    found = follow(steps, resource)
    assert found.count("lists") + found.count("order") == 1
    assert found.are_holds_in_doubt is (doubt == "doubt")

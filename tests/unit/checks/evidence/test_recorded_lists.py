"""Which lists do not fit what surrounds them."""

from typing import Any

import pytest

from harness.checks.evidence import contradictions, recorded_lists
from harness.checks.observed import observations, observed_pods
from tests.histories import language
from tests.support import text_tables


def follow(steps: str) -> contradictions.Contradictions:
    """Follow the steps, as in recorded_lists.txt; return what was found."""
    found = contradictions.Contradictions()
    lists = recorded_lists.RecordedLists(observations.PODS, found)
    for word, version, *count in (step.split(":") for step in steps.split()):
        if count:
            lists.begin(language.listed(observations.PODS, word, int(version), int(*count)))
        elif word == "gap":
            lists.gap(language.gap(observations.PODS, int(version)))
        else:
            lists.observe(_seen(word, int(version)))
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

"""The nodes that a NodeSelector admits, as the API documents its operators."""

from typing import Any

import pytest

from harness.checks.devices import device_catalogue, reachable_devices
from tests.histories import judged_runs, placements
from tests.support import text_tables

LABELS = {"zone": "a", "rank": "5"}


def selector(text: str) -> dict[str, Any]:
    """The selector that node_selectors.txt means."""
    return {"nodeSelectorTerms": [_term(term.split(" , ")) for term in text.split(" or ")]}


def _term(requirements: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, operator, *values in map(str.split, requirements):
        kind = "matchFields" if "." in key else "matchExpressions"
        made.setdefault(kind, []).append({"key": key, "operator": operator, "values": values})
    return made


def cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "node_selectors.txt", part)


@pytest.mark.parametrize(("text", "is_admitted"), cases("admitted"))
def test_a_node_is_admitted_if_a_term_has_all_its_requirements_met(
    text: str, is_admitted: str
) -> None:
    assert device_catalogue.admits(selector(text), "n", LABELS) is (is_admitted == "yes")


def test_no_selector_admits_all_nodes_and_one_without_requirements_none() -> None:
    assert device_catalogue.admits(None, "n", LABELS)
    assert not device_catalogue.admits({"nodeSelectorTerms": []}, "n", LABELS)
    assert not device_catalogue.admits({"nodeSelectorTerms": [{}]}, "n", LABELS)


@pytest.mark.parametrize("text", cases("unknown"))
def test_what_is_not_known_is_not_judged(text: str) -> None:
    with pytest.raises(device_catalogue.UnknownSelectorError):
        device_catalogue.admits(selector(text), "n", LABELS)


@pytest.mark.parametrize(("place", "text", "missed"), cases("another"))
def test_a_selector_of_an_allocation_is_tried_on_nodes_that_may_come(
    place: str, text: str, missed: str
) -> None:
    events = [
        placements.node("n1", **LABELS, kind="k"),
        placements.piece("D", nodeSelector=selector(place)),
        placements.claim("c", placements.result("D"), selector=selector(text)),
    ]
    answer = reachable_devices.REACHABLE_DEVICES.judge(placements.evidence(events))
    [violation] = judged_runs.examined(answer).violations
    assert f"does not admit {missed}, from which all its devices can" in violation.text


@pytest.mark.parametrize(("text", "names"), cases("names"))
def test_the_only_names_are_those_of_all_terms(text: str, names: str) -> None:
    assert device_catalogue.only_names(selector(text)) == (set(names.split()) or None)


def test_without_a_selector_no_name_is_the_only_one() -> None:
    broken = {"nodeSelectorTerms": "all"}
    assert device_catalogue.only_names(None) is None
    assert device_catalogue.only_names(broken) is None
    with pytest.raises(device_catalogue.UnknownSelectorError):
        device_catalogue.admits(broken, "n", LABELS)

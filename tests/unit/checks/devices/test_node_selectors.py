"""The nodes that a NodeSelector admits, as the API documents its operators."""

from typing import Any

import pytest

from harness.checks.devices import node_selectors
from tests.histories.placements import on

LABELS = {"zone": "a", "rank": "5"}


def labelled(*requirements: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": [_made(item) for item in requirements]}]}


def _made(item: tuple[str, str, list[str]]) -> dict[str, Any]:
    key, operator, values = item
    return {"key": key, "operator": operator, "values": values}


CASES: dict[str, tuple[Any, bool]] = {
    "none": (None, True),
    "no terms": ({"nodeSelectorTerms": []}, False),
    "a term without requirements": ({"nodeSelectorTerms": [{}]}, False),
    "In": (labelled(("zone", "In", ["b", "a"])), True),
    "In others": (labelled(("zone", "In", ["b"])), False),
    "In, without the label": (labelled(("none", "In", ["a"])), False),
    "NotIn": (labelled(("zone", "NotIn", ["b"])), True),
    "NotIn its own": (labelled(("zone", "NotIn", ["a"])), False),
    "NotIn, without the label": (labelled(("none", "NotIn", ["a"])), True),
    "Exists": (labelled(("zone", "Exists", [])), True),
    "Exists, without the label": (labelled(("none", "Exists", [])), False),
    "DoesNotExist": (labelled(("none", "DoesNotExist", [])), True),
    "DoesNotExist, with the label": (labelled(("zone", "DoesNotExist", [])), False),
    "Gt": (labelled(("rank", "Gt", ["4"])), True),
    "Gt the same": (labelled(("rank", "Gt", ["5"])), False),
    "Lt": (labelled(("rank", "Lt", ["6"])), True),
    "Lt the same": (labelled(("rank", "Lt", ["5"])), False),
    "Gt, without the label": (labelled(("none", "Gt", ["-1"])), False),
    "Lt, without the label": (labelled(("none", "Lt", ["9"])), False),
    "Gt no number": (labelled(("zone", "Gt", ["1"])), False),
    "Gt nothing": (labelled(("rank", "Gt", [])), False),
    "all requirements": (labelled(("zone", "In", ["a"]), ("rank", "Gt", ["1"])), True),
    "one of two requirements": (labelled(("zone", "In", ["a"]), ("rank", "Gt", ["9"])), False),
    "its name": (on("m", "n"), True),
    "another name": (on("m"), False),
    "one of two terms": (
        {
            "nodeSelectorTerms": [
                *labelled(("zone", "In", ["b"]))["nodeSelectorTerms"],
                *on("n")["nodeSelectorTerms"],
            ]
        },
        True,
    ),
}


@pytest.mark.parametrize(("selector", "is_admitted"), CASES.values(), ids=CASES)
def test_a_node_is_admitted_if_a_term_has_all_its_requirements_met(
    selector: Any,
    is_admitted: bool,
) -> None:
    assert node_selectors.admits(selector, "n", LABELS) is is_admitted


UNKNOWN: dict[str, Any] = {
    "an operator": labelled(("zone", "Like", ["a"])),
    "a field": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "spec.x", "operator": "In", "values": ["n"]}]}
        ]
    },
    "no selector": {"nodeSelectorTerms": "all"},
}


@pytest.mark.parametrize("selector", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_is_not_judged(selector: Any) -> None:
    with pytest.raises(node_selectors.UnknownSelectorError):
        node_selectors.admits(selector, "n", LABELS)


NAMES: dict[str, tuple[Any, set[str] | None]] = {
    "none": (None, None),
    "one": (on("n"), {"n"}),
    "several": (on("n", "m"), {"n", "m"}),
    "of two terms": (
        {"nodeSelectorTerms": on("n")["nodeSelectorTerms"] + on("m")["nodeSelectorTerms"]},
        {"n", "m"},
    ),
    "labels decide": (labelled(("zone", "In", ["a"])), None),
    "labels of another term decide": (
        {
            "nodeSelectorTerms": on("n")["nodeSelectorTerms"]
            + labelled(("zone", "In", ["a"]))["nodeSelectorTerms"]
        },
        None,
    ),
    "all but one": (
        {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]}
            ]
        },
        None,
    ),
    "another field": (
        {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "spec.x", "operator": "In", "values": ["n"]}]}
            ]
        },
        None,
    ),
    "no selector": ({"nodeSelectorTerms": "all"}, None),
}


@pytest.mark.parametrize(("selector", "names"), NAMES.values(), ids=NAMES)
def test_the_only_names_are_those_of_all_terms(selector: Any, names: set[str] | None) -> None:
    assert node_selectors.only_names(selector) == names

"""Answers compared with what is expected of them."""

from typing import Any

import pytest

from harness.conformance.api import rule_execution, rulebooks

BODY = {
    "reason": "Conflict",
    "message": "the object has been modified",
    "metadata": {"name": "n", "labels": {"a.b/c": "d"}, "resourceVersion": "12"},
    "items": [{"x": 1}, {"x": 2}],
}


def shortcomings(**expected: Any) -> list[str]:
    step = rulebooks.Step(verb="GET", target="x", **expected)
    return rule_execution.find_shortcomings(step, 200, BODY, {"old": {"version": "9"}, "name": "n"})


@pytest.mark.parametrize(
    ("met", "unmet"),
    [
        ({"gives": 200}, {"gives": 201}),
        ({"reason": "Conflict"}, {"reason": "Invalid"}),
        ({"says": "has been mod"}, {"says": "^has"}),
        ({"has": {"metadata.name": "{name}"}}, {"has": {"metadata.name": "{old.version}"}}),
        ({"has": {"metadata.labels[a.b/c]": "d"}}, {"has": {"metadata.labels[a.b/x]": "d"}}),
        ({"has": {"items.1.x": 2}}, {"has": {"items.2.x": 2}}),
        ({"lacks": ["metadata.uid"]}, {"lacks": ["metadata.name"]}),
        ({"matches": {"metadata.resourceVersion": "^[0-9]+$"}}, {"matches": {"metadata.uid": "."}}),
        ({"counts": {"items": 2}}, {"counts": {"items": 1}}),
        ({"differs": {"metadata.name": "m"}}, {"differs": {"metadata.name": "n"}}),
        ({"differs": {"metadata.name": "m"}}, {"differs": {"metadata.uid": "n"}}),
        (
            {"above": {"metadata.resourceVersion": "{old.version}"}},
            {"above": {"metadata.resourceVersion": "12"}},
        ),
    ],
)
def test_an_expectation_is_met_or_named(met: dict[str, Any], unmet: dict[str, Any]) -> None:
    assert shortcomings(**met) == []
    (text,) = shortcomings(**unmet)
    assert "expected" in text


def test_without_a_status_any_success_will_do() -> None:
    step = rulebooks.Step(verb="GET", target="x")
    assert rule_execution.find_shortcomings(step, 204, None, {}) == []
    (text,) = rule_execution.find_shortcomings(step, 500, BODY, {})
    assert text == "expected success, got 500: the object has been modified"

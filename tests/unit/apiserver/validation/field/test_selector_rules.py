"""Node selectors."""

from typing import Any

import pytest

from harness.apiserver.validation.field import selector_rules

Document = dict[str, Any]


@pytest.mark.parametrize(
    ("term", "wrong"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, []),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}, []),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, [("values", "Required")]),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            [("values", "Forbidden")],
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Gt"}]}, [("values", "Required")]),
        (
            {"matchExpressions": [{"key": "a b", "operator": "Is", "values": ["x y"]}]},
            [("operator", "Invalid"), ("key", "Invalid"), ("values[0]", "Invalid")],
        ),
        (
            {"matchFields": [{"key": "spec.x", "operator": "Exists"}]},
            [("operator", "Invalid"), ("key", "Invalid")],
        ),
        (
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "B"]}]},
            [("values", "Required"), ("values[1]", "Invalid")],
        ),
    ],
)
def test_node_selectors(fields: Any, term: Document, wrong: list[Any]) -> None:
    found = fields(selector_rules.node_selector({"nodeSelectorTerms": [term]}, "s"))
    at = f"s.nodeSelectorTerms[0].{next(iter(term))}[0]"
    assert found == [(f"{at}.{field}", reason) for field, reason in wrong]

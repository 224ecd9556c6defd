"""Node selectors."""

from typing import Any

from harness.apiserver.validation import node_resources
from tests.support import cases

Document = dict[str, Any]


def test_node_selectors(fields: Any) -> None:
    for term, wrong in cases.read(__file__, "terms"):
        found = fields(node_resources.node_selector({"nodeSelectorTerms": [term]}, "s"))
        at = f"s.nodeSelectorTerms[0].{next(iter(term))}[0]"
        assert found == [(f"{at}.{field}", reason) for field, reason in wrong], term

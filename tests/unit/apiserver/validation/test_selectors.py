"""Node selectors."""

from typing import Any

import pytest

from harness.apiserver.validation import node_resources
from tests.support import cases

Document = dict[str, Any]


@pytest.mark.parametrize(("term", "wrong"), cases.read(__file__, "terms"))
def test_node_selectors(fields: Any, term: Document, wrong: list[Any]) -> None:
    found = fields(node_resources.node_selector({"nodeSelectorTerms": [term]}, "s"))
    at = f"s.nodeSelectorTerms[0].{next(iter(term))}[0]"
    assert found == [(f"{at}.{field}", reason) for field, reason in wrong]

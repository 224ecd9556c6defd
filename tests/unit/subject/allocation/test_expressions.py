"""Selectors in CEL, as DRA defines them."""

from typing import Any

import pytest

from harness.subject.allocation import expressions

DRIVER = "gpu.example.com"
DEVICE = {
    "name": "a",
    "attributes": {
        "kind": {"string": "big"},
        "index": {"int": 7},
        "ecc": {"bool": True},
        "driverVersion": {"version": "1.2.3"},
        "other.com/kind": {"string": "strange"},
    },
    "capacity": {"memory": {"value": "40Gi"}, "other.com/bandwidth": {"value": "1500m"}},
}
MINE, OTHER = f'["{DRIVER}"]', '["other.com"]'


def matches(text: str, device: dict[str, Any] = DEVICE) -> bool:
    return expressions.Selector(text).matches(DRIVER, device)


@pytest.mark.parametrize(
    "text", ["", "device.", "device.driver ==", "unknown == 1", "device.driver + 1 == 2"]
)
def test_a_selector_that_does_not_compile_is_named(text: str) -> None:
    with pytest.raises(expressions.SelectorError, match="CEL selector"):
        matches(text)


def test_a_selector_has_its_limit() -> None:
    limit = expressions.EXPRESSION_CHARACTERS_MAX
    with pytest.raises(expressions.SelectorError, match=f"at most {limit} characters"):
        expressions.Selector("true" + " " * limit)


def test_a_selector_is_compiled_once() -> None:
    assert expressions.compiled("1 == 1") is expressions.compiled("1 == 1")

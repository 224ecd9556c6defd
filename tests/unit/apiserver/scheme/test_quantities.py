"""Quantities: what is read, what it is worth, and how it is printed."""

import decimal

import hypothesis
import pytest
from hypothesis import strategies as st

from harness.apiserver.scheme import quantities
from tests.support import cases


def test_canonical_form() -> None:
    printed = cases.read(__file__, "printed")
    assert {text: quantities.canonical(text) for text in printed} == printed


def test_numbers_of_json_are_quantities() -> None:
    assert [quantities.canonical(value) for value in (2, 0.5, 2000)] == ["2", "500m", "2k"]


def test_what_is_no_quantity() -> None:
    for text in ("", "-", "lots", "1 Gi", "1.2.3", "k", ".", "1KK", "1e", "1ki", "1" * 1001):
        with pytest.raises(quantities.QuantityError, match="quantities must be a number"):
            quantities.parse(text)


def test_order_ignores_how_a_quantity_is_written() -> None:
    texts = ["1Ki", "1000", "1024", "1.1k", "900000m"]
    ordered = sorted(texts, key=lambda text: quantities.parse(text).amount)
    assert ordered == ["900000m", "1000", "1Ki", "1024", "1.1k"]


def test_integers_are_rounded_away_from_zero() -> None:
    texts = ("1", "1m", "1500m", "-1500m")
    assert [quantities.parse(text).integer() for text in texts] == [1, 1, 2, -2]


@hypothesis.given(
    st.integers(-(10**15), 10**15),
    st.sampled_from(["", "n", "u", "m", "k", "M", "Ki", "Mi", "Gi", "e3", "e-2"]),
)
def test_the_printed_form_is_worth_the_same_and_stays(number: int, suffix: str) -> None:
    quantity = quantities.parse(f"{number}{suffix}")
    again = quantities.parse(quantity.text)
    # As Go: no suffix beyond Ei, so that -2^70 is written as -1; only positive ones are capped.
    without_suffix = suffix.endswith("i") and quantity.amount <= -(2**70)
    capped = suffix.endswith("i") and quantity.amount == quantities.INT64_MAX
    if suffix not in ("n", "u") and not capped and not without_suffix:
        assert again.amount == quantity.amount
    assert again.text == quantity.text
    assert isinstance(again.amount, decimal.Decimal)

"""Shapes, scales and axes."""

import re

import pytest

from harness.report import drawing


@pytest.mark.parametrize(
    ("top", "shown"),
    [
        (48, ["20 pods", "40 pods"]),
        (4089, ["2,000 pods", "4,000 pods"]),
        (1, ["0.25 pods", "0.5 pods", "0.75 pods", "1 pods"]),
    ],
)
def test_a_vertical_axis_has_round_numbers_with_their_unit(top: float, shown: list[str]) -> None:
    drawn = list(drawing.value_axis(drawing.Scale(0, top, 120, 16), unit=" pods"))
    assert [re.sub("<[^>]*>", "", label) for label in drawn[1::2]] == shown
    assert len(drawn) == 2 * len(shown)

"""Large histories are sound, and have the double allocations that were asked for."""

import pathlib

import pytest

from harness.checks import judging, verdicts
from tests.histories import large

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID


@pytest.mark.parametrize(("doubles", "verdict"), [(0, VALID), (3, INVALID)])
def test_what_was_asked_for_is_judged(
    tmp_path: pathlib.Path, doubles: int, verdict: verdicts.Verdict
) -> None:
    judgement = judging.judge(large.build(tmp_path / "run", 95, doubles=doubles))
    figures = judgement.figures
    assert (judgement.verdict, figures.double_allocations) == (verdict, doubles)
    assert (figures.allocations, figures.claims) == (95, 10)

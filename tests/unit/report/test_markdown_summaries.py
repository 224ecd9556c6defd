"""summary.md says the verdict, its violations and gaps, and obeys no name."""

import pathlib
import re
from typing import Any

import pytest

from harness.checks import judging
from harness.history import plans
from harness.report import markdown_summaries, publishing
from tests.histories import archives, building


def _summary(path: pathlib.Path, text: str, **options: Any) -> str:
    made = building.build(path, text, **options)
    publishing.publish(judging.examine(made))
    return made.summary.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("verdict", "symbol"), [("VALID", "✓"), ("UNKNOWN", "?"), ("INVALID", "✗")]
)
def test_verdict_reason_and_facts(tmp_path: pathlib.Path, verdict: str, symbol: str) -> None:
    text = _summary(tmp_path / "run", archives.TEXTS[verdict])
    lines = text.splitlines()
    assert lines[0] == f"## {symbol} {verdict}: written-by-hand, correct"
    assert lines[2]
    for row in ("| run | f00dfeed |", "| seed | 7 |", "| cluster | embedded |"):
        assert row in lines
    assert text.endswith("|\n")


def test_violations_are_listed_up_to_a_limit(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markdown_summaries, "VIOLATIONS_MAX", 2)
    text = _summary(tmp_path / "run", "a+D1 b+D1 c+D2 d+D2 e+D3 f+D3")
    listed = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(listed) == 3
    assert listed[0].startswith("- device\\_exclusivity: ")
    assert listed[2] == "- and 1 more"


def test_gaps_of_the_certificate_are_named(tmp_path: pathlib.Path) -> None:
    requirements = plans.Requirements(allocations_min=99, pods_running_min=0)
    text = _summary(tmp_path / "run", archives.TEXTS["VALID"], requirements=requirements)
    assert re.search(r"^- not certified: .+\?", text, re.MULTILINE)


def test_a_check_without_an_answer_is_named(tmp_path: pathlib.Path) -> None:
    owed = plans.UsedPlugin(kind="checks", name="my_check", package="my-plugins", version="1.0")
    text = _summary(tmp_path / "run", "p:b b+D1 b^p p>n p*", changes={"plugins": [owed]})
    assert (
        "- no answer: my\\_check: the run owes this check of my-plugins 1.0, which is not "
        "installed here: install it, and judge the run again\n"
    ) in text
    assert "no answer" not in _summary(tmp_path / "other", "a+D1 b+D1")

"""Text and JSON say the same, and keep to their forms."""

import pathlib

import pytest

from harness.log_analysis import analyses
from harness.report.explanations import documents, texts
from tests.support import log_lines
from tests.support.log_lines import Story

GOLDEN = log_lines.FOLDER
LOGS = {"recorded": log_lines.RECORDED, "ktesting": log_lines.KTESTING}


def explained(*paths: pathlib.Path) -> documents.Explanation:
    return documents.document(analyses.analyse([str(path) for path in paths]))


def written(tmp_path: pathlib.Path, text: str) -> documents.Explanation:
    path = tmp_path / "scheduler.log"
    path.write_text(text)
    return explained(path)


@pytest.mark.parametrize("name", LOGS)
def test_the_text_is_the_golden_one(name: str, request: pytest.FixtureRequest) -> None:
    text = "\n".join(texts.lines(explained(LOGS[name]))) + "\n"
    shown = text.replace(str(LOGS[name]), LOGS[name].name)
    assert shown == (GOLDEN / f"{name}.golden.txt").read_text()


def failing(name: str = "a") -> Story:
    story = Story().attempt(name).gather().reserve(name).remove(name).lose_answer(name)
    story.add("retrying update after conflict", claim=f"default/{name}")
    return story.attempt("b").gather().reserve("b").assume("b").observe("b").observe(name)


def test_lines_are_shown_as_they_are_with_their_meaning(tmp_path: pathlib.Path) -> None:
    lines = failing().text().splitlines()
    place = next(n for n, line in enumerate(lines) if "Removed in-flight claim" in line)
    lines[place] += " <b>\x1b[31m"
    explanation = written(tmp_path, "\n".join(lines))
    (found,) = explanation.double_allocations
    shown = {item.number: item for item in found.lines}
    assert [*shown] == sorted(shown)
    assert shown[place + 1].text == lines[place]
    assert shown[place + 1].meaning == "first: PreBind: no longer in flight"
    assert f"  {place + 1}  {lines[place]}" in [*texts.lines(explanation)]

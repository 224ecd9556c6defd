"""Text and JSON say the same, and keep to their forms."""

import json
import pathlib
from typing import Any

import msgspec
import pytest

from harness.log_analysis import analyses
from harness.report.explanations import documents, excerpts, texts
from tests.support import log_lines, schemas
from tests.support.log_lines import Story

GOLDEN = log_lines.FOLDER
LOGS = {"recorded": log_lines.RECORDED, "ktesting": log_lines.KTESTING}


def explained(*paths: pathlib.Path) -> documents.Explanation:
    return documents.document(analyses.analyse([str(path) for path in paths]))


def written(tmp_path: pathlib.Path, text: str) -> documents.Explanation:
    path = tmp_path / "scheduler.log"
    path.write_text(text)
    return explained(path)


def in_json(explanation: documents.Explanation) -> Any:
    return json.loads(msgspec.json.encode(explanation))


@pytest.mark.parametrize("name", LOGS)
def test_the_text_is_the_golden_one(name: str, request: pytest.FixtureRequest) -> None:
    text = "\n".join(texts.lines(explained(LOGS[name]))) + "\n"
    shown = text.replace(str(LOGS[name]), LOGS[name].name)
    assert shown == (GOLDEN / f"{name}.golden.txt").read_text()


@pytest.mark.parametrize("name", LOGS)
def test_documents_have_the_form_of_the_schema(name: str) -> None:
    schemas.obeying("explanation", in_json(explained(LOGS[name])))


@pytest.mark.parametrize("text", ["", "nothing of a scheduler\n", Story().observe("a").text()])
def test_documents_without_a_finding_have_the_form_of_the_schema(
    tmp_path: pathlib.Path, text: str
) -> None:
    schemas.obeying("explanation", in_json(written(tmp_path, text)))


def failing(name: str = "a") -> Story:
    story = Story().attempt(name).gather().reserve(name).remove(name).lose_answer(name)
    story.add("retrying update after conflict", claim=f"default/{name}")
    return story.attempt("b").gather().reserve("b").assume("b").observe("b").observe(name)


def test_failures_are_in_both_forms(tmp_path: pathlib.Path) -> None:
    explanation = written(tmp_path, failing().text())
    document = in_json(explanation)
    schemas.obeying("explanation", document)
    assert [(item["kind"], item["count"]) for item in document["failures"]] == [
        ("write conflict", 1),
        ("lost answer", 1),
    ]
    assert [line["number"] for line in document["failures"][1]["lines"]] == [19]
    text = " ".join("\n".join(texts.lines(explanation)).split())
    assert "lost answer of a status write" in text
    assert "the API server may have stored it" in text
    assert '19 I0115 15:11:04.407764 7 file.go:1] "dynamic resource plugin failed"' in text
    assert "1 × write conflict" in text


def test_lines_of_several_logs_have_their_names(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    paths[0].write_text(failing().text())
    paths[1].write_text(failing("z").text())
    assert f"lines {paths[0]}:22, {paths[1]}:22" in " ".join(
        " ".join(texts.lines(explained(*paths))).split()
    )


def test_the_lines_beside_those_of_a_finding_are_shown_as_they_are(tmp_path: pathlib.Path) -> None:
    """In both forms; the lines with a meaning can be told from them."""
    before, after = "just <b>before</b> \x1b[31m", "just after " + "x" * 500
    text = failing().text()
    line = next(item for item in text.splitlines() if "Removed in-flight claim" in item)
    explanation = written(tmp_path, text.replace(line, f"{before}\n{line}\n{after}"))
    (found,) = explanation.double_allocations
    shown = {item.text: item for item in found.lines}
    place = shown[line].number
    assert (shown[before].number, shown[before].meaning) == (place - 1, "")
    assert shown[line].meaning == "first: PreBind: no longer in flight"
    beside = next(item for item in found.lines if item.number == place + 1)
    assert beside.text == after[: excerpts.BESIDE_MAX] + "…"
    assert [item.number for item in found.lines] == sorted({item.number for item in found.lines})
    in_text = [*texts.lines(explanation)]
    assert f"    {place - 1}  {before}" in in_text
    assert f"  > {place}  {line}" in in_text

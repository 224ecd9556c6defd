"""Text, JSON and page say the same, keep to their forms, and escape what a log contains."""

import html.parser
import json
import pathlib
import re
from typing import Any

import jsonschema
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


def test_the_schema_refuses_other_documents() -> None:
    document = in_json(explained(log_lines.KTESTING))
    for wrong in (document | {"verdict": "GOOD"}, document | {"schema": "1"}, {"schema": 1}):
        with pytest.raises(jsonschema.ValidationError):
            schemas.obeying("explanation", wrong)


class Page(html.parser.HTMLParser):
    """The parts that a browser would load or run, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.shown = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe", "link", "object"):
            self.loaded.append(tag)
        self.loaded += [
            name
            for name, value in attrs
            if name.startswith("on") or (value or "").startswith("java")
        ]

    def handle_data(self, data: str) -> None:
        self.shown += data


def test_the_page_has_every_double_allocation_and_loads_nothing() -> None:
    page = texts.page(explained(log_lines.RECORDED))
    assert Page(page).loaded == []
    assert not re.search(r"https?://", page)
    shown = Page(page).shown
    for number in range(1, 5):
        assert f"Double allocation {number} of 4" in shown
    for part in ("assume-cache early return", "non-atomic gather (likely)", "13.508 ms", "77584"):
        assert part in shown


HOSTILE = "<script>alert(1)</script>\u202e`|\\x1b[31m"


def test_names_of_a_log_are_text_on_the_page(tmp_path: pathlib.Path) -> None:
    page = texts.page(written(tmp_path, Story().observe(HOSTILE).observe("b").text()))
    assert Page(page).loaded == []
    assert "<script>alert(1)</script>" in Page(page).shown
    assert "\u202e" not in page


def failing(name: str = "a") -> Story:
    story = Story().attempt(name).gather().reserve(name).remove(name).lose_answer(name)
    story.add("retrying update after conflict", claim=f"default/{name}")
    return story.attempt("b").gather().reserve("b").assume("b").observe("b").observe(name)


def test_failures_are_in_all_three_forms(tmp_path: pathlib.Path) -> None:
    explanation = written(tmp_path, failing().text())
    document = in_json(explanation)
    schemas.obeying("explanation", document)
    assert [(item["kind"], item["count"]) for item in document["failures"]] == [
        ("write conflict", 1),
        ("lost answer", 1),
    ]
    assert [line["number"] for line in document["failures"][1]["lines"]] == [19]
    text = " ".join("\n".join(texts.lines(explanation)).split())
    page = " ".join(Page(texts.page(explanation)).shown.split())
    for shown in (text, page):
        assert "lost answer of a status write" in shown
        assert "the API server may have stored it" in shown
        assert '19 I0115 15:11:04.407764 7 file.go:1] "dynamic resource plugin failed"' in shown
    assert "1 × write conflict" in text


def test_lines_of_several_logs_have_their_names(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    paths[0].write_text(failing().text())
    paths[1].write_text(failing("z").text())
    assert f"lines {paths[0]}:22, {paths[1]}:22" in " ".join(
        " ".join(texts.lines(explained(*paths))).split()
    )


def test_the_lines_beside_those_of_a_finding_are_shown_as_they_are(tmp_path: pathlib.Path) -> None:
    """In all three forms; the lines with a meaning can be told from them."""
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
    page = Page(texts.page(explanation))
    assert (page.loaded, "\x1b" in page.shown) == ([], False)
    assert "just <b>before</b>" in page.shown

"""A scheduler of others left a log, no steps: the page tells what its log says of the violation."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import judging
from harness.history import directories, plans
from harness.report import publishing
from harness.report.causes import log_causes
from tests.histories import building
from tests.support import log_lines, page_markup

TEXT = "a+D1 b+D1"


def _log() -> str:
    """A claim leaves the claims in flight, and only then its device is seen."""
    story = log_lines.Story().attempt("a").gather().reserve("a").assume("a").remove("a")
    story.attempt("b").gather().observe("a").reserve("b")
    story.assume("b").observe("b").remove("b")
    text = log_lines.text(story.lines)
    return text.replace("default/", "tests/").replace("worker-0", "pool").replace("device-0", "D1")


def _run(path: pathlib.Path, log: str | None, **changes: Any) -> directories.RunDirectory:
    directory = building.build(path / "run", TEXT)
    plan = plans.read(directory.plan)
    changed = {"subject": "kube-scheduler", "expected_steps": [], "expected_writes": []}
    plans.write(directory.plan, msgspec.structs.replace(plan, **{**changed, **changes}))
    directory.steps(building.SCHEDULER).unlink()
    directory.logs.mkdir(exist_ok=True)
    if log is not None:
        directory.log("scheduler").write_text(log)
    return directory


def _page(directory: directories.RunDirectory) -> page_markup.Page:
    publishing.publish(judging.examine(directory))
    return page_markup.read(directory.report.read_text())


def test_the_race_is_named_with_the_lines_of_the_log(tmp_path: pathlib.Path) -> None:
    directory = _run(tmp_path, _log())
    page = _page(directory)
    [cause] = [text for text in page.texts if "According to the scheduler's log: " in text][:1]
    assert "assume-cache early return" in cause
    assert "No steps of the scheduler were recorded" not in page.text
    assert "logs/scheduler.log" in page.texts
    assert str(tmp_path) not in directory.report.read_text()
    assert page.unbalanced == []


LOGS = {
    "none": None,
    "of something else": "hello\n" * 9,
    "of other claims": _log().replace("tests/a", "tests/x"),
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_without_such_a_log_the_cause_is_unknown(tmp_path: pathlib.Path, log: str | None) -> None:
    page = _page(_run(tmp_path, log))
    assert "No steps of the scheduler were recorded" in page.text
    assert "According to the scheduler's log" not in page.text


def test_a_log_that_is_too_large_is_not_read(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_causes, "BYTES_MAX", 10)
    assert "According to the scheduler's log" not in _page(_run(tmp_path, _log())).text

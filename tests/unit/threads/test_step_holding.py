"""Threads of a program in Python, held at its named steps."""

import pathlib
import threading
from collections.abc import Iterator

import pytest

from harness import errors
from harness.threads import messages, step_holding, tracer_session
from tests.unit.threads import programs


class Stage(programs.Commanded):
    """A holder, the run that commands it, and threads that go through its steps."""

    def __init__(self, path: pathlib.Path) -> None:
        self.holder = step_holding.StepHolder(path)
        self.session = tracer_session.TracerSession(path)
        self.passed: list[str] = []

    def go(self, *steps: str) -> threading.Thread:
        """Let a thread go through steps."""

        def pass_all() -> None:
            for step in steps:
                self.holder(step, {})
                self.passed.append(step)

        thread = threading.Thread(target=pass_all, daemon=True)
        thread.start()
        return thread


@pytest.fixture
def stage(tmp_path: pathlib.Path) -> Iterator[Stage]:
    made = Stage(tmp_path / "scheduler.threads")
    yield made
    made.session.close()


def test_a_thread_is_held_until_it_is_released(stage: Stage) -> None:
    stage.watch("held", "step gather.cloned")
    first, other = stage.go("begin", "gather.cloned", "end"), stage.go("a", "b")
    held = stage.told("held", "held")
    other.join(10)
    assert held.place == "step gather.cloned"
    assert "pass_all" in held.stack
    assert set(stage.passed) == {"begin", "a", "b"}
    stage.release("held")
    first.join(10)
    assert stage.passed[-2:] == ["gather.cloned", "end"]
    stage.told("held", "released")


def test_the_nth_visit_passes_and_a_hold_ends_in_time(stage: Stage) -> None:
    stage.watch("pass", "step gather.*", holds=False, visit=2)
    stage.watch("short", "step gather.*", visit=3, hold_max_s=0.05)
    stage.go(*["gather.cloned"] * 5).join(10)
    assert stage.told("pass", "passed").place == "step gather.cloned"
    assert stage.told("short", "expired").ts_ns > stage.told("short", "held").ts_ns
    assert len(stage.passed) == 5


def test_nobody_is_held_when_nobody_commands_any_more(stage: Stage) -> None:
    stage.watch("held", "step one")
    stage.watch("later", "step two")
    thread = stage.go("one", "two", "three")
    stage.told("held", "held")
    stage.session.close()
    thread.join(10)
    assert stage.passed == ["one", "two", "three"]


def test_a_place_that_is_none_is_refused(stage: Stage) -> None:
    stage.session.tell(messages.Watch(name="bad", place="exit of Get", holds=True))
    stage.watch("good", "step one", holds=False)
    stage.go("one").join(10)
    stage.told("good", "passed")
    with pytest.raises(errors.UsageError, match="expected a place as"):
        stage.session.find("bad", "watched")

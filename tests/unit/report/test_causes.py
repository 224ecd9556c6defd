"""The cause of a double allocation: window, story, and the writes as differences."""

import pathlib
from collections.abc import Sequence
from typing import Any

import pytest

from harness.checks import judging, verdicts
from harness.history import directories, records
from harness.report import evidence, publishing
from harness.report.causes import deciding_writes, explaining, held_threads, step_sentences, strips
from tests.histories import building, damages, language
from tests.support import cases, page_markup
from tests.unit.report import races


def _source(directory: directories.RunDirectory) -> evidence.Evidence:
    return evidence.Evidence(judging.examine(directory))


def _violation(source: evidence.Evidence) -> verdicts.DoubleAllocation:
    [violation] = source.double_allocations
    return violation


# ------------------------------------------------------------------------------------ the window


def test_the_window_is_from_the_stale_read_to_the_write_it_missed(tmp_path: pathlib.Path) -> None:
    steps = races.steps(races.NOT_ATOMIC)
    source = _source(building.build(tmp_path / "run", races.TEXT, steps=steps))
    window = explaining.window(_violation(source), source.steps[0])
    assert window is not None
    names = [name for _, name, _ in races.NOT_ATOMIC]
    read, missed = (names.index(name) for name in (window.read.name, window.missed.name))
    assert window.read.name == "gather.devices.cloned"
    assert window.missed.name == "allocated-devices.inserted"
    assert window.length_ms == (missed - read) / 10
    assert (window.first_rv, window.second_rv) == (1, 4)
    assert "3 after the first one, 1" in window.text


@pytest.mark.parametrize("lines", [races.SOUND, races.BRED, []], ids=["sound", "bred", "none"])
def test_without_a_stale_read_there_is_none(
    tmp_path: pathlib.Path, lines: list[races.Line]
) -> None:
    source = _source(building.build(tmp_path / "run", races.TEXT, steps=races.steps(lines)))
    assert explaining.window(_violation(source), source.steps[0]) is None


@pytest.mark.parametrize("lines", [races.NOT_ATOMIC, races.GATHER])
def test_the_page_tells_the_window_and_the_choice_only_if_they_were_recorded(
    tmp_path: pathlib.Path, lines: list[races.Line]
) -> None:
    directory = building.build(tmp_path / "run", races.TEXT, steps=races.steps(lines))
    publishing.publish(judging.examine(directory))
    html = directory.report.read_text()
    text, was_chosen = page_markup.read(html).text, lines == races.NOT_ATOMIC
    assert (strips.CHOSEN in text, strips.COMMITTED in text) == (was_chosen, not was_chosen)
    assert html.count('class="window"') == ("The window was " in text) == was_chosen


def test_a_thread_that_was_held_then_has_a_lane(tmp_path: pathlib.Path) -> None:
    source = _source(building.build(tmp_path / "run", races.TEXT))
    violation = _violation(source)
    at = violation.holders[1].allocated_ts_ns
    held = [
        held_threads.HeldThread("goroutine 7 at the entry of f", "it is in g", begun, None)
        for begun in (at - 5_000_000, at - 5_000_000_000)
    ]
    picture = strips.strip(violation, source.steps[0], held=held).picture
    assert picture.count("goroutine 7 at the entry of f, held<") == 1
    assert "goroutine 7 at the entry of f is held; it is in g" in picture


# --------------------------------------------------------------------------- several schedulers

SUCCESSOR = "scheduler.2"


def _with_successor(
    path: pathlib.Path, first: Sequence[records.Step], second: Sequence[records.Step]
) -> directories.RunDirectory:
    """A run whose scheduler was replaced by another incarnation."""
    directory = building.build(path / "run", races.TEXT, steps=first)
    building.write(directory.steps(SUCCESSOR), second, process=SUCCESSOR)
    start, end = language.at(0), language.at(9)
    damages.appended(
        damages.processes,
        records.ProcessStarted(process=SUCCESSOR, pid=9, argv=[SUCCESSOR], ts_ns=start),
        records.ProcessEnded(process=SUCCESSOR, pid=9, exit_code=0, expected=True, ts_ns=end),
    )(directory)
    return directory


def _lines(steps: Sequence[records.Step]) -> list[str]:
    return [f"{step.thread} {step.name}" for step in steps]


def test_the_gather_is_that_of_the_scheduler_which_took_the_device(tmp_path: pathlib.Path) -> None:
    # Both schedulers count their steps from 0, and one gathers while the other one decides.
    other = races.steps([races.added(races.A), races.removed(races.A), *races.GATHER])
    later_ns = other[0].ts_ns + 150_000
    decider = races.steps([*races.GATHER, races.added(races.B)], first_ns=later_ns)
    source = _source(_with_successor(tmp_path, decider, other))
    assert _lines(source.steps[0]) == [
        f"{SUCCESSOR}/scheduling in-flight.added",
        f"{SUCCESSOR}/binder-0 in-flight.removed",
        *(f"scheduler/scheduling {name}" for _, name, _ in races.GATHER),
        "scheduler/scheduling in-flight.added",
    ]
    assert [step.seq for step in source.steps[0]] == list(range(7))


# ------------------------------------------------------------------------------------- the story


def _step(thread: str, name: str, **fields: Any) -> records.Step:
    return records.Step(seq=0, ts_ns=1_500_000, thread=thread, name=name, fields=fields)


@pytest.mark.parametrize(("expected", "step"), cases.read(__file__, "steps").items())
def test_a_step_is_told_in_a_sentence(expected: str, step: tuple[str, str, Any]) -> None:
    thread, name, fields = step
    made = _step(thread, name, **fields)
    assert step_sentences.tell([made], {"uid-a": "claim A"}, origin_ns=2_000_000) == [(1, expected)]


def test_a_step_without_a_sentence_is_left_out_and_keeps_its_number() -> None:
    steps = [_step("x", "gather.started"), _step("binder-1", "in-flight.removed")]
    assert [number for number, _ in step_sentences.tell(steps, {}, origin_ns=0)] == [2]


# ------------------------------------------------------------------------------------ the writes


def test_both_allocations_and_both_bindings(tmp_path: pathlib.Path) -> None:
    source = _source(building.build(tmp_path / "run", "p:a q:b a+D1 a^p p>n b+D1 b^q q>n"))
    violation = _violation(source)
    found = deciding_writes.DecidingWrites([violation])
    found.read(source.history)
    writes = found.of(violation)
    assert [write.title for write in writes] == [
        "claim A, a, is allocated",
        "pod p of claim A is bound",
        "claim B, b, is allocated",
        "pod q of claim B is bound",
    ]
    assert [write.resource_version for write in writes] == [3, 5, 6, 8]
    texts = [line.text for line in writes[1].lines if line.sign == "+"]
    assert 'spec.nodeName: "n"' in texts


def test_observations_that_are_too_large_are_not_read_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding_writes, "BYTES_MAX", 100)
    source = _source(building.build(tmp_path / "run", races.TEXT))
    found = deciding_writes.DecidingWrites(source.double_allocations)
    found.read(source.history)
    assert found.of(_violation(source)) == []


@pytest.mark.parametrize(("before", "after", "expected"), cases.read(__file__, "differences"))
def test_differences(before: Any, after: Any, expected: list[str]) -> None:
    lines = deciding_writes.differences(before, after)
    assert [f"{line.sign} {line.text}" for line in lines] == expected


def test_differences_are_bounded() -> None:
    lines = deciding_writes.differences({}, {str(number): "x" * 999 for number in range(999)})
    assert len(lines) == deciding_writes.LINES_MAX + 1
    assert lines[-1].sign == "…"
    assert max(len(line.text) for line in lines) < deciding_writes.VALUE_MAX + 20


def test_values_that_are_nested_too_deeply_are_no_error() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    [line] = deciding_writes.differences({}, deep)
    assert line.sign == "…"

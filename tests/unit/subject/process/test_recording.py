"""The harness reads the records that the subject writes."""

import pathlib

import pytest

from harness import clocks, concurrency
from harness.history import journal_reader, records
from harness.subject.process import recording

TIMEOUT_S = 20.0


def recorder_at(path: pathlib.Path) -> recording.StepRecorder:
    return recording.StepRecorder(path, process="scheduler", run_id="run-7")


def test_header_steps_and_trailer_are_the_harness_s_records(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "scheduler.jsonl"
    recorder = recorder_at(path)
    recorder("in-flight.added", {"claim": "c", "count": 2, "found": True})
    recorder("gather.started", {})
    recorder.close()
    journal = journal_reader.read(path)
    assert journal.header is not None
    assert journal.header.schema == records.SCHEMA_VERSION
    assert (journal.header.process, journal.header.run_id) == ("scheduler", "run-7")
    assert journal.header.boot_id == clocks.boot_id()
    assert journal.trailer is not None
    assert journal.trailer.count == 2
    assert not journal.torn
    first, second = journal.records
    assert isinstance(first, records.Step)
    assert isinstance(second, records.Step)
    assert (first.seq, first.name, first.thread) == (0, "in-flight.added", "MainThread")
    assert first.fields == {"claim": "c", "count": 2, "found": True}
    assert (second.seq, second.fields) == (1, {})
    assert first.ts_ns <= second.ts_ns


def test_a_recorder_that_did_not_end_leaves_every_step_but_no_trailer(
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / "scheduler.jsonl"
    recorder_at(path)("gather.started", {})
    journal = journal_reader.read(path)
    assert (len(journal.records), journal.trailer) == (1, None)


def test_many_threads_lose_no_step_and_share_no_number(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "scheduler.jsonl"
    recorder = recorder_at(path)

    def take_steps() -> None:
        for _ in range(300):
            recorder("gather.started", {})

    threads = [concurrency.spawn(f"t{index}", take_steps) for index in range(4)]
    for thread in threads:
        thread.join(TIMEOUT_S)
    recorder.close()
    journal = journal_reader.read(path)
    steps = [item for item in journal.records if isinstance(item, records.Step)]
    assert sorted(step.seq for step in steps) == list(range(1200))
    assert {step.thread for step in steps} == {"t0", "t1", "t2", "t3"}
    for name in ("t0", "t3"):
        mine = [step.seq for step in steps if step.thread == name]
        assert mine == sorted(mine)


def test_a_file_that_is_there_is_not_written_over(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "scheduler.jsonl"
    recorder_at(path).close()
    with pytest.raises(FileExistsError):
        recorder_at(path)

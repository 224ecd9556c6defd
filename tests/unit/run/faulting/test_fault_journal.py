"""Effects and windows of faults: how they are written and counted."""

import pathlib

import pytest

from harness import clocks, errors
from harness.history import journal_reader, journal_writer
from harness.run.faulting import fault_journal
from tests.unit.run.faulting import fake_parts


def test_effects_and_windows_are_written_and_counted(tmp_path: pathlib.Path) -> None:
    path, tick = tmp_path / "faults.jsonl", clocks.monotonic_ns
    journal = fault_journal.FaultJournal(path, run_id="r")
    with journal.effect("f", "kill-process", "scheduler", "killed") as facts:
        facts["alive_ns"] = 5
        assert (journal.count("f"), journal.ended_count("f")) == (1, 0)
    with pytest.raises(KeyError), journal.effect("f", "kill-process", "kubelet", "killed"):
        raise KeyError
    healed, never, late = (journal.open_window(name, "drop-watch") for name in "fgh")
    healed.has_begun = late.has_begun = True
    healed.ended_ns, before_ns = 9, tick()
    healed.errors += ["one", "two", "one"]
    assert (journal.active(), journal.begun()) == (["g", "h"], {"f", "h"})
    journal.took_effect("h")
    journal.close(problem="two")
    journal.took_effect("f")
    journal.close()
    written, windows = fake_parts.read(path)
    journal.write(written[0])
    assert (journal.count("f"), journal.ended_count("f")) == (3, 3)
    assert fake_parts.read(path) == (written, windows), "nothing comes after the end"
    assert journal.failure is None
    ended, failed = written
    assert (ended.process, ended.detail, ended.alive_ns) == ("scheduler", "killed", 5)
    assert failed.process == "kubelet"
    assert ended.ended_ns is not None
    assert ended.begun_ns <= ended.ended_ns <= failed.begun_ns
    assert failed.ended_ns is None
    assert [(it.fault, it.applied_count, it.error) for it in windows] == [
        ("f", 2, "one; two"),
        ("g", 0, "two"),
        ("h", 1, "two"),
    ]
    assert windows[0].ended_ns == 9
    assert before_ns <= windows[1].ended_ns <= tick()
    assert never.ended_ns is None
    assert journal_reader.read(path).header.process == "faults"


def test_a_journal_that_cannot_be_written_says_so(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = fault_journal.FaultJournal(tmp_path / "faults.jsonl", run_id="r")
    calls = []

    def fail(*_: object) -> None:
        calls.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal_writer.Writer, "write", fail)
    for _ in range(2):
        with journal.effect("f", "kill-process", "scheduler", "killed"):
            pass
    assert isinstance(journal.failure, errors.StorageError)
    assert (len(calls), journal.ended_count("f")) == (1, 2), "nothing is written after a failure"
    journal.close()

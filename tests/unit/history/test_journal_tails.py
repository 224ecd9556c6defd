"""Journals that are read while they are written: whole lines, plain and compressed, in pieces."""

import os
import pathlib

import pytest

from harness.history import journal_reader, journal_writer, records, zstd_frames


def phase(number: int) -> records.Phase:
    return records.Phase(name=f"phase {number}", ts_ns=number)


@pytest.mark.parametrize("name", ["journal.jsonl", "journal.jsonl.zst"])
def test_records_come_as_they_are_written(
    tmp_path: pathlib.Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zstd_frames, "FRAME_MAX", 200)  # several frames
    tail = journal_reader.Tail(tmp_path / name)
    assert list(tail.new()) == []  # there is no file yet
    writer = journal_writer.Writer(tmp_path / name, process="run", run_id="1")
    assert list(tail.new()) == []
    assert tail.header is not None
    assert tail.header.run_id == "1"
    for number in range(20):
        writer.write(phase(number))
        assert list(tail.new()) == [phase(number)]
    writer.write_many([phase(20), phase(21)])
    writer.close()
    assert not tail.is_closed
    assert list(tail.new()) == [phase(20), phase(21)]
    assert tail.is_closed
    assert list(tail.new()) == []
    tail.close()


@pytest.mark.parametrize("name", ["journal.jsonl", "journal.jsonl.zst"])
def test_every_cut_of_a_file_is_read_up_to_its_last_whole_line(
    tmp_path: pathlib.Path, name: str
) -> None:
    writer = journal_writer.Writer(tmp_path / name, process="run", run_id="1")
    for number in range(5):
        writer.write(phase(number))
    writer.close()
    whole = (tmp_path / name).read_bytes()
    growing = tmp_path / f"growing-{name}"
    tail, seen = journal_reader.Tail(growing), []
    with growing.open("wb", buffering=0) as file:
        for byte in range(len(whole)):
            file.write(whole[byte : byte + 1])
            seen += list(tail.new())
            assert not tail.damage
    tail.close()
    assert seen == [phase(number) for number in range(5)]
    assert tail.is_closed


def test_a_reader_that_stops_goes_on_where_it_was(tmp_path: pathlib.Path) -> None:
    writer = journal_writer.Writer(tmp_path / "j", process="run", run_id="1")
    writer.write_many([phase(number) for number in range(9)])
    tail = journal_reader.Tail(tmp_path / "j")
    for number in range(9):
        assert next(tail.new()) == phase(number)
    assert list(tail.new()) == []
    writer.close()
    tail.close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"rec\n', "j, line 3: expected a complete record"),
        (b'{"record":"nonsense"}\n', "j, line 3: expected a complete record"),
        (b"\xff\xfe\n", "j, line 3: expected a complete record"),
    ],
)
def test_damage_is_told_and_ends_the_file(
    tmp_path: pathlib.Path, content: bytes, said: str
) -> None:
    journal_writer.Writer(tmp_path / "j", process="run", run_id="1").write(phase(1))
    with (tmp_path / "j").open("ab") as file:
        file.write(content)
    tail = journal_reader.Tail(tmp_path / "j")
    assert list(tail.new()) == [phase(1)]
    assert tail.damage.startswith(said)
    with (tmp_path / "j").open("ab") as file:
        file.write(b'{"record":"phase","name":"b","ts_ns":2}\n')
    assert list(tail.new()) == []


def test_what_is_no_journal_is_damage(tmp_path: pathlib.Path) -> None:
    (tmp_path / "j.zst").write_bytes(b"not compressed\n" * 9)
    tail = journal_reader.Tail(tmp_path / "j.zst")
    assert list(tail.new()) == []
    assert "expected zstd frames" in tail.damage
    os.mkfifo(tmp_path / "fifo")
    fifo = journal_reader.Tail(tmp_path / "fifo")
    assert list(fifo.new()) == []
    assert "expected a file, got a FIFO" in fifo.damage

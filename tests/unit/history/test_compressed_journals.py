"""Compressed journals: the same records, torn ends, damage, and bombs; and violent ends of all."""

import pathlib
import signal
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import errors
from harness.history import journal_reader, journal_writer, records, zstd_frames
from tests.histories import damages, language

TEXT = " ".join(f"c{n}+D{n % 4} c{n}^p{n} p{n}* c{n}~" for n in range(15))
SEEN = language.observe(TEXT)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "observations.jsonl.zst"


@pytest.fixture(params=["observations.jsonl", "observations.jsonl.zst"])
def either(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> pathlib.Path:
    """A plain journal, or a compressed one."""
    return tmp_path / str(request.param)


def _write(path: pathlib.Path, body: list[records.Body], *, close: bool = True) -> list[int]:
    """The sizes of the file after the header and after each record."""
    writer = journal_writer.Writer(path, process="recorder", run_id="run")
    sizes = [path.stat().st_size]
    for record in body:
        writer.write(record)
        sizes.append(path.stat().st_size)
    if close:
        writer.close()
    return sizes


def test_a_file_that_is_there_is_not_written_again(either: pathlib.Path) -> None:
    _write(either, SEEN)
    before = either.read_bytes()
    with pytest.raises(FileExistsError):
        journal_writer.Writer(either, process="recorder", run_id="run")
    assert either.read_bytes() == before


@pytest.mark.parametrize("frame_max", [2_000, zstd_frames.FRAME_MAX])
def test_wherever_a_file_is_cut_all_whole_records_are_read(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, frame_max: int
) -> None:
    monkeypatch.setattr(zstd_frames, "FRAME_MAX", frame_max)
    sizes = _write(path, SEEN)
    content = path.read_bytes()
    cuts = [*range(500), *range(500, len(content) - 300, 23)]
    for cut in [*cuts, *range(len(content) - 300, len(content))]:
        path.write_bytes(content[:cut])
        journal = journal_reader.read(path)
        assert len(journal.records) >= sum(size <= cut for size in sizes[1:])
        assert journal.records == SEEN[: len(journal.records)]
        assert journal.torn or journal.trailer is None
        assert journal_reader.last_trailer(path) is None


def test_the_trailer_is_found_from_the_end(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_reader, "TRAILER_MAX", 400)
    _write(path, SEEN)
    assert path.stat().st_size > 1_000
    assert journal_reader.last_trailer(path) == journal_reader.read(path).trailer is not None


def test_an_empty_file_has_no_header(either: pathlib.Path) -> None:
    either.touch()
    journal = journal_reader.read(either)
    assert (journal.header, journal.trailer, journal.torn) == (None, None, False)
    assert journal.records == []
    assert journal_reader.last_trailer(either) is None


# ------------------------------------------------------------------------------ violent ends


_ENDLESS_WRITER = """
import os, pathlib, sys
from harness.history import journal_writer, records, zstd_frames
zstd_frames.FRAME_MAX = int(sys.argv[2])
writer = journal_writer.Writer(pathlib.Path(sys.argv[1]), process="recorder", run_id="run")
n = 0
while True:
    batch = [records.Phase(name="x" * (n % 300), ts_ns=n + i) for i in range(1 + n % 3)]
    writer.write(batch[0])
    writer.write_many(batch[1:])
    n += len(batch)
    os.write(1, b"%d\\n" % n)
"""
_WRITER_WITHOUT_SPACE = """
import pathlib, resource, sys
from harness.history import journal_writer, records
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
writer = journal_writer.Writer(pathlib.Path(sys.argv[1]), process="recorder", run_id="run")
try:
    for n in range(1000):
        writer.write(records.Phase(name="phase", ts_ns=n * 7919 % 10007))
except OSError as error:
    print(n, type(error).__name__, error.filename == sys.argv[1])
"""


@pytest.mark.parametrize("frame_max", [700, zstd_frames.FRAME_MAX])
def test_a_killed_writer_loses_nothing_that_it_had_acknowledged(
    either: pathlib.Path, frame_max: int
) -> None:
    argv = [sys.executable, "-c", _ENDLESS_WRITER, str(either), str(frame_max)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(300)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    acknowledged = max(int(line) for line in said if line.endswith(b"\n"))
    journal = journal_reader.read(either)
    numbers = [record.ts_ns for record in journal.records if isinstance(record, records.Phase)]
    assert len(numbers) >= acknowledged >= 300
    assert numbers == list(range(len(numbers)))
    assert journal.trailer is None


def test_evidence_that_cannot_be_written_is_an_error_at_once(either: pathlib.Path) -> None:
    argv = [sys.executable, "-c", _WRITER_WITHOUT_SPACE, str(either)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    written, *error = done.stdout.split()
    journal = journal_reader.read(either)
    assert error == ["OSError", "True"]
    assert len(journal.records) == int(written) > 10
    assert journal.torn


# ----------------------------------------------------------------------------------- damage


def _damage(path: pathlib.Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(errors.HistoryError) as caught:
        journal_reader.read(path)
    message = str(caught.value)
    assert message.startswith("observations.jsonl.zst, line ")
    assert message.endswith("The journal is damaged; restore the file or run again")
    return message.removeprefix("observations.jsonl.zst, ").partition(". The journal")[0]


def test_garbage_between_two_frames_is_damage_with_its_line(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zstd_frames, "FRAME_MAX", 1)
    sizes = _write(path, SEEN)
    content = path.read_bytes()
    assert len(content[: sizes[30]]) > 2_000
    damage = _damage(path, content[: sizes[30]] + b"garbage" * 300 + content[sizes[30] :])
    line = int(damage.removeprefix("line ").partition(":")[0])
    # Up to a kilobyte in front of the damage is read together with it.
    assert 15 < line <= 33


def test_two_journals_in_one_file_are_damage(path: pathlib.Path) -> None:
    _write(path, SEEN)
    content = path.read_bytes()
    expected = f"line {len(SEEN) + 3}: a second header: two writers shared the file"
    assert _damage(path, content + content) == expected


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.binary(max_size=40), st.integers(0, 40))
def test_a_changed_file_is_never_read_as_another_whole_one(
    tmp_path_factory: pytest.TempPathFactory, at: int, new: bytes, length: int
) -> None:
    path = tmp_path_factory.mktemp("changed") / "observations.jsonl.zst"
    _write(path, SEEN)
    content = path.read_bytes()
    at %= len(content) + 1
    path.write_bytes(content[:at] + new + content[at + length :])
    try:
        journal = journal_reader.read(path)
    except errors.HistoryError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert journal.torn or journal.trailer is None or journal.records == SEEN
    assert not refusal or refusal.startswith("observations.jsonl.zst, line ")


def test_a_line_without_an_end_is_not_read_whole(path: pathlib.Path) -> None:
    """8 GiB from 256 KiB, behind a sound header."""
    writer = journal_writer.Writer(path, process="recorder", run_id="run")
    writer.close()
    content = path.read_bytes() + damages.bomb(2**16)
    tracemalloc.start()
    try:
        damage = _damage(path, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert damage == f"line 3: expected a line of at most {journal_reader.LINE_MAX} bytes"
    assert peak < 3 * journal_reader.LINE_MAX

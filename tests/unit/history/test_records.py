"""Journals: what is written is read again, and every damage but a torn last line is named."""

import pathlib
import types
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import clocks, errors
from harness.history import journal_reader, journal_writer, records

PHASES: list[records.Body] = [records.Phase(name=f"phase {n}", ts_ns=n) for n in range(5)]

OBJECT = msgspec.Raw(b'{"metadata":{"name":"p\\n\xc3\xa4"},  "b":[1.50]}')


def _made(kind: type[Any], *, is_whole: bool) -> Any:
    """A struct with a value for each of its fields, or for those that it must have."""
    given = {
        field.name: _value(typing.get_type_hints(kind)[field.name])
        for field in msgspec.structs.fields(kind)
        if is_whole or field.required
    }
    return kind(**given)


def _value(kind: Any) -> Any:
    origin, *arguments = typing.get_origin(kind), *typing.get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _made(kind, is_whole=True)
    if origin is typing.Literal:
        return arguments[-1]
    if origin in (typing.Union, types.UnionType):
        return _value(arguments[0])
    if origin in (list, tuple):
        return origin(map(_value, arguments))
    if origin is dict:
        return {"key": _value(arguments[1])}
    return {int: 5_000_000_000, str: "line\nä", bool: True, Any: "any", msgspec.Raw: OBJECT}[kind]


KINDS = typing.get_args(records.Body)
ONE_OF_EACH: list[records.Body] = [
    _made(kind, is_whole=is_whole) for kind in KINDS for is_whole in (True, False)
]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "operations-traffic-0.jsonl"


def _write(path: pathlib.Path, body: list[records.Body], *, close: bool = True) -> None:
    writer = journal_writer.Writer(path, process="traffic-0", run_id="run")
    for record in body:
        writer.write(record)
    if close:
        writer.close()


def _lines(path: pathlib.Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


# -------------------------------------------------------------------------------- round trips


def test_every_kind_of_record_is_read_as_it_was_written(path: pathlib.Path) -> None:
    _write(path, ONE_OF_EACH)
    journal = journal_reader.read(path)
    assert journal.records == ONE_OF_EACH


@pytest.mark.parametrize("size", [1, 7])
def test_blocks_of_any_size_give_the_same_records(
    path: pathlib.Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(path, ONE_OF_EACH)
    whole = journal_reader.read(path)
    monkeypatch.setattr(journal_reader, "BUFFER", size)
    assert journal_reader.read(path).records == whole.records


@pytest.mark.parametrize("size", [1, 64])
def test_a_line_may_be_as_long_as_allowed(
    path: pathlib.Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(path, ONE_OF_EACH)
    longest = max(map(len, _lines(path)))
    monkeypatch.setattr(journal_reader, "BUFFER", size)
    monkeypatch.setattr(journal_reader, "LINE_MAX", longest)
    assert journal_reader.read(path).records == ONE_OF_EACH
    monkeypatch.setattr(journal_reader, "LINE_MAX", longest - 1)
    [number] = [n for n, line in enumerate(_lines(path), start=1) if len(line) == longest]
    with pytest.raises(errors.HistoryError, match=rf"line {number}: expected a line of at most"):
        journal_reader.read(path)


def test_header_and_trailer_say_who_and_how_many(path: pathlib.Path) -> None:
    writer = journal_writer.Writer(path, process="traffic-0", run_id="run")
    writer.write(PHASES[0])
    writer.write_many(PHASES[1:])
    writer.write_many([])
    writer.close(reason="enough")
    journal = journal_reader.read(path)
    assert journal.header is not None
    assert journal.trailer is not None
    assert (journal.header.process, journal.header.run_id) == ("traffic-0", "run")
    assert (journal.header.schema, journal.header.boot_id) == (1, clocks.boot_id())
    assert (journal.trailer.count, journal.trailer.reason) == (5, "enough")
    assert not journal.torn


# --------------------------------------------------------------------------------- torn ends


@settings(max_examples=60)
@given(st.data())
def test_wherever_a_file_is_cut_all_whole_lines_are_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "steps.jsonl"
    _write(path, ONE_OF_EACH)
    lines, content = _lines(path), path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    journal = journal_reader.read(path)
    whole = content[:cut].count(b"\n")
    assert journal.torn == (not content[:cut].endswith(b"\n") and cut > 0)
    assert journal.records == ONE_OF_EACH[: max(whole - 1, 0)]
    assert (journal.header is None) == (whole == 0)
    assert (journal.trailer is None) == (whole < len(lines))


# ---------------------------------------------------------------------------------- damage


def _damaged(path: pathlib.Path, lines: list[bytes]) -> str:
    path.write_bytes(b"".join(lines))
    with pytest.raises(errors.HistoryError) as caught:
        journal_reader.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path.name}, line ")
    assert message.endswith("The journal is damaged; restore the file or run again")
    return message.removeprefix(f"{path.name}, ").partition(". The journal")[0]


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"{}\n",
        b"null\n",
        b'{"record":"phase","name":"x"}\n',
        b'{"record":"never heard of"}\n',
        b"\x00\x00\n",
        b'{"record":"phase","name":"\xff","ts_ns":1}\n',
    ],
    ids=["blank", "empty", "null", "half", "unknown", "zeros", "not utf-8"],
)
def test_a_damaged_line_is_named(path: pathlib.Path, garbage: bytes) -> None:
    _write(path, PHASES)
    for number, _ in enumerate(_lines(path)):
        lines = _lines(path)
        lines[number] = garbage
        said = _damaged(path.with_name("other.jsonl"), lines)
        assert said.startswith(f"line {number + 1}: expected a complete record, got ")


def test_a_long_damaged_line_is_cut(path: pathlib.Path) -> None:
    _write(path, PHASES)
    lines = _lines(path)
    lines[2] = b"x" * 10_000 + b"\n"
    assert len(_damaged(path, lines)) < 250


@pytest.mark.parametrize("change", ["one less", "one more"])
def test_a_trailer_that_counts_otherwise_is_damage(path: pathlib.Path, change: str) -> None:
    _write(path, PHASES)
    lines = _lines(path)
    if change == "one less":
        expected = "line 6: the trailer counts 5 records, the file has 4"
        assert _damaged(path, [*lines[:3], *lines[4:]]) == expected
    else:
        expected = "line 8: the trailer counts 5 records, the file has 6"
        assert _damaged(path, [*lines[:3], lines[2], *lines[3:]]) == expected


def test_a_second_header_is_damage(path: pathlib.Path) -> None:
    _write(path, PHASES)
    lines = _lines(path)
    assert _damaged(path, [*lines[:3], lines[0], *lines[3:]]) == (
        "line 4: a second header: two writers shared the file"
    )


def test_a_file_without_a_header_is_damage(path: pathlib.Path) -> None:
    _write(path, PHASES)
    assert _damaged(path, _lines(path)[1:]) == "line 1: expected the header first"
    _write(empty := path.with_name("steps-x.jsonl"), [])
    assert _damaged(empty, _lines(empty)[1:]) == "line 1: expected the header first"


def test_a_record_after_the_trailer_is_damage(path: pathlib.Path) -> None:
    _write(path, PHASES)
    lines = _lines(path)
    assert _damaged(path, [*lines, lines[1]]) == "line 8: a record after the trailer"
    assert _damaged(path, [*lines, lines[-1]]) == "line 8: a record after the trailer"


def test_another_schema_is_refused(path: pathlib.Path) -> None:
    _write(path, PHASES)
    lines = _lines(path)
    lines[0] = lines[0].replace(b'"schema":1', b'"schema":2')
    assert _damaged(path, lines) == (
        "line 1: expected schema 1, got 2: read it with the version of Flake Hunt that wrote it"
    )

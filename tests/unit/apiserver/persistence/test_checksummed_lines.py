"""Records: cut anywhere, what is whole is read; changed anywhere, it is noticed."""

import io
import random

import pytest

from harness.apiserver.persistence import checksummed_lines

PAYLOADS = [b"B 1 0", b'A pods {"x":1}', b"E", b'M pods {"y":"' + b"z" * 40 + b'"}', b"D pods {}"]


def written(payloads: list[bytes] = PAYLOADS) -> bytes:
    encoder = checksummed_lines.LineEncoder()
    return b"".join(encoder.line(payload) for payload in payloads)


def read(data: bytes) -> tuple[list[bytes], checksummed_lines.LineReader]:
    reader = checksummed_lines.LineReader(io.BytesIO(data))
    return list(reader), reader


def ends() -> list[int]:
    return [len(written(PAYLOADS[:count])) for count in range(len(PAYLOADS) + 1)]


def test_what_is_written_is_read() -> None:
    payloads, reader = read(written())
    assert payloads == PAYLOADS
    assert (reader.end, reader.torn) == (len(written()), False)


@pytest.mark.parametrize("zeros", [0, 1, 4096])
def test_cut_at_any_byte_all_whole_records_are_read(zeros: int) -> None:
    data = written()
    for length in range(len(data) + 1):
        whole = max(count for count, end in enumerate(ends()) if end <= length)
        if zeros and length + 1 in ends():
            continue  # all but the newline is there, and a newline does not turn into a zero
        payloads, reader = read(data[:length] + b"\0" * zeros)
        assert payloads == PAYLOADS[:whole]
        assert reader.end == ends()[whole]
        assert reader.torn == (length not in ends() or zeros > 0)


def test_after_a_cut_writing_goes_on_where_it_was_whole() -> None:
    _, reader = read(written()[:-3])
    encoder = checksummed_lines.LineEncoder(reader.checksum)
    again = written()[: reader.end] + encoder.line(b"next")
    assert read(again)[0] == [*PAYLOADS[:-1], b"next"]


def test_any_changed_byte_is_noticed() -> None:
    data = written()
    dice = random.Random(1)
    for offset in range(len(data)):
        for value in {data[offset] ^ 1, data[offset] ^ 0x80, 0, 10, 32, dice.randrange(256)}:
            if value == data[offset]:
                continue
            changed = data[:offset] + bytes([value]) + data[offset + 1 :]
            reader = checksummed_lines.LineReader(io.BytesIO(changed))
            with pytest.raises(checksummed_lines.DamagedRecordError):
                list(reader)
            assert reader.begin == max(end for end in ends() if end <= offset)


def test_a_missing_or_moved_record_is_noticed() -> None:
    lines = written().splitlines(keepends=True)
    for index in range(len(lines) - 1):
        for broken in (
            lines[:index] + lines[index + 1 :],
            [*lines[:index], lines[index + 1], lines[index], *lines[index + 2 :]],
            [*lines[:index], lines[index], *lines[index:]],
        ):
            with pytest.raises(checksummed_lines.DamagedRecordError):
                read(b"".join(broken))

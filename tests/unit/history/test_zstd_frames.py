"""Zstd frames: whole ones, torn ones, damaged ones, and bombs."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compression import zstd
from harness.history import zstd_frames
from tests.histories import damages

PIECES = [b"a piece of text %d, of some length " % n * (1 + n % 7) + b"\n" for n in range(40)]


def compressed(pieces: list[bytes]) -> list[bytes]:
    """The bytes appended for each piece, and those at the end."""
    compressor = zstd_frames.Compressor()
    return [*map(compressor.append, pieces), compressor.end()]


def read(content: bytes) -> tuple[bytes, bool]:
    """The content as far as it can be read by lines, and whether the last frame has no end."""
    lines: list[bytes] = []
    with zstd_frames.decompressing(io.BytesIO(content)) as file:
        try:
            lines.extend(iter(file.readline, b""))
        except EOFError:
            return b"".join(lines), True
    return b"".join(lines), False


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=3_000)), st.integers(1, 5_000))
def test_what_was_appended_is_read(pieces: list[bytes], frame_max: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zstd_frames, "FRAME_MAX", frame_max)
        content = b"".join(compressed(pieces))
    assert read(content) == (b"".join(pieces), False)
    assert not content or zstd.decompress(content) == b"".join(pieces)


def test_each_frame_can_be_read_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd_frames, "FRAME_MAX", 500)
    content = b"".join(compressed(PIECES))
    begins = [at for at in range(len(content)) if content.startswith(zstd_frames.MAGIC, at)]
    assert len(begins) > 5
    for begin in begins:
        found, torn = read(content[begin:])
        assert b"".join(PIECES).endswith(found)
        assert len(found) > 0
        assert not torn


@pytest.mark.parametrize(
    "content",
    [b"plain text\n", b"\x1f\x8b" + bytes(50), bytes(50), b"".join(compressed(PIECES)) + b"more"],
    ids=["text", "gzip", "zeros", "something behind"],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(zstd_frames.FrameError, match="expected zstd frames"):
        read(content)


def test_a_window_beyond_the_limit_is_refused() -> None:
    with zstd_frames.decompressing(io.BytesIO(damages.bomb(1, window_log=23))) as file:
        assert file.readline(10) == b"x" * 10
    with pytest.raises(zstd_frames.FrameError, match="too much memory"):
        read(damages.bomb(1, window_log=24))


def test_a_frame_that_announces_a_huge_content_is_refused() -> None:
    huge = zstd_frames.MAGIC + b"\xe0" + (2**60).to_bytes(8, "little") + bytes(20)
    with pytest.raises(zstd_frames.FrameError):
        read(huge)


def test_the_last_frame_is_found_from_the_end() -> None:
    compressor = zstd_frames.Compressor()
    content = b"".join(map(compressor.append, PIECES)) + compressor.append_frame(b"the last\n")
    for begin in (0, 10, len(content) - 30):
        assert zstd_frames.last_frame(content[begin:], limit=100) == b"the last\n"
    assert zstd_frames.last_frame(content, limit=8) == b""
    for cut in range(1, 21):
        assert zstd_frames.last_frame(content[:-cut], limit=100) == b""
    assert zstd_frames.last_frame(content[-5:], limit=100) == b""
    assert zstd_frames.last_frame(b"", limit=100) == b""


def test_a_magic_number_among_the_bytes_of_a_frame_does_not_matter() -> None:
    frame = zstd_frames.Compressor().append_frame(b"x" + zstd_frames.MAGIC + b"yz")
    assert frame.count(zstd_frames.MAGIC) == 2
    assert zstd_frames.last_frame(frame, limit=100) == b"x" + zstd_frames.MAGIC + b"yz"


@pytest.mark.parametrize("frames", [1, 5])
def test_a_small_file_that_grows_without_end_is_not_read_further(
    monkeypatch: pytest.MonkeyPatch, frames: int
) -> None:
    monkeypatch.setattr(zstd_frames, "UNPACKED_MAX", 2**20)
    frame = zstd.compress(bytes(8 * 2**20 // frames))
    with pytest.raises(zstd_frames.FrameError, match="grows to more than 1 MiB and 300 times"):
        read(frame * frames)


def test_a_file_that_grows_as_journals_do_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd_frames, "UNPACKED_MAX", 2**10)
    content = b"".join(b"a line %d of a journal\n" % number for number in range(10_000))
    packed = zstd_frames.Compressor().append_frame(content)
    assert read(packed) == (content, False)

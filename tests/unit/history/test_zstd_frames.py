"""Zstd frames: whole ones, torn ones, damaged ones, and bombs."""

import io

import pytest

from harness.compression import zstd
from harness.history import zstd_frames
from tests.histories import damages

PIECES = [b"a piece of text %d, of some length " % n * (1 + n % 7) + b"\n" for n in range(40)]


def read(content: bytes) -> tuple[bytes, bool]:
    """The content as far as it can be read by lines, and whether the last frame has no end."""
    lines: list[bytes] = []
    with zstd_frames.decompressing(io.BytesIO(content)) as file:
        try:
            lines.extend(iter(file.readline, b""))
        except EOFError:
            return b"".join(lines), True
    return b"".join(lines), False


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

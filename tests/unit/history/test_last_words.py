"""The sentence with which a program ended is found in its log, in any of their usual forms."""

import os
import pathlib

import pytest

from harness.compression import zstd
from harness.history import last_words
from tests.support import cases

ENDS = cases.read(__file__, "ends")


@pytest.mark.parametrize(("text", "expected"), ENDS.values(), ids=ENDS)
def test_it_is_found(tmp_path: pathlib.Path, text: str, expected: str) -> None:
    log = tmp_path / "scheduler.log"
    log.write_bytes(text.encode())
    assert last_words.of_log(log, or_last_line=False) == expected
    packed = tmp_path / "scheduler.log.zst"
    packed.write_bytes(zstd.compress(text.encode()))
    assert last_words.of_log(packed, or_last_line=False) == expected


def test_the_last_line_may_do(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "scheduler.log"
    log.write_text("one\nE1126 no  \n\n" + "x" * 10)
    assert last_words.of_log(log, or_last_line=True) == "x" * 10
    log.write_text("y" * 10_000)
    assert len(last_words.of_log(log, or_last_line=True)) < 400


def test_stacks_of_many_goroutines_may_follow(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "scheduler.log"
    log.write_text("x\n" * 3_000_000 + "fatal error: all asleep\n" + "goroutine 1 [x]:\n" * 100_000)
    assert last_words.of_log(log, or_last_line=False) == "fatal error: all asleep"


def test_a_log_that_cannot_be_read_says_nothing(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "fifo.log")
    (tmp_path / "bad.log.zst").write_bytes(b"no zstd")
    for name in ("none.log", "fifo.log", "bad.log.zst"):
        assert last_words.of_log(tmp_path / name, or_last_line=True) == ""

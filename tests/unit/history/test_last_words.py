"""The sentence with which a program ended is found in its log, in any of their usual forms."""

import os
import pathlib

import pytest

from harness.compression import zstd
from harness.history import last_words

PANIC = "panic: interface conversion: interface {} is *v1.A, not *v1.B [recovered, repanicked]"
GO = f"""I1126 06:28:14.103495    4590 flags.go:64] "Starting"
E1126 06:28:19.877478    4590 iface.go:293] "Observed a panic" panic="x" stacktrace=<
\tpanic({{0x41791a8?, 0x177cd7bef890?}})
 >
{PANIC}
\tpanic: another one

goroutine 1 [running]:
panic({{0x41791a8?, 0x177cd7bef890?}})
\t/go/src/runtime/panic.go:859 +0x125
"""
PYTHON = """Traceback (most recent call last):
  File "s.py", line 1, in <module>
    raise KeyError("x")
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "s.py", line 3, in <module>
    main()
    ~~~~^^
ValueError: no device is left
"""
ENDS = {
    "Go": (GO, PANIC),
    "Go, with line ends of Windows": (GO.replace("\n", "\r\n"), PANIC),
    "Go's runtime": (
        "x\nfatal error: concurrent map writes\n\ngoroutine 1 [running]:\n",
        "fatal error: concurrent map writes",
    ),
    "klog": (
        'F1126 06:28:14.1    1 x.go:6] "no token"\ngoroutine 1 [running]:\n',
        'F1126 06:28:14.1 1 x.go:6] "no token"',
    ),
    "a panic that was only seen": (
        'E1126 06:28:19.8 4 iface.go:293] "Observed a panic" panic="nil map" stacktrace=<\n\tx\n',
        'E1126 06:28:19.8 4 iface.go:293] "Observed a panic" panic="nil map" stacktrace=<',
    ),
    "Python": (PYTHON, "ValueError: no device is left"),
    "the latest counts": (GO + PYTHON, "ValueError: no device is left"),
    "Rust": (
        "thread 'main' panicked at src/main.rs:2:5:\nno device\nnote: run with `RUST_BACKTRACE=1`\n",
        "thread 'main' panicked at src/main.rs:2:5:",
    ),
    "Java": (
        'Exception in thread "main" java.lang.NullPointerException\n\tat A.main(A.java:3)\n',
        'Exception in thread "main" java.lang.NullPointerException',
    ),
    "nothing of the kind": ("one\ntwo  words\n\n", ""),
    "nothing": ("", ""),
}


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

"""Cuts the content of a log into blocks of whole lines, and keeps the latest of them."""

import collections
import dataclasses
import re
from collections.abc import Iterable, Iterator

import msgspec

from harness.log_analysis import log_files
from harness.log_analysis.messages import Gap

_HELD_MAX = 2**22
"""Longest line in bytes that is waited for; a longer one is passed on in parts."""
_PART_MIN = 1_000
"""Shortest text without a line end that goes on in the next object, as docker and Go cut lines."""
_RETURNS = re.compile(rb"\r+\n?")
_OBJECT = re.compile(rb'\n(?:\{|[^IWEF\s{}"][^\n"{]{0,200}\{) ?"(?!ts":)')
"""The begin of a line in JSON, perhaps behind a prefix, that is not klog's own form."""
_KLOG = re.compile(rb"[IWEF]\d{4} \d\d:\d\d:")
_KEYS = ("log", "Output", "MESSAGE", "message", "line")
"""Keys of the text of a line: docker and fluentd, `go test`, journald, stern, Loki."""


def _unwrapped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text as the scheduler wrote it, given any pieces of a log."""
    rest = b""
    for piece in pieces:
        if not rest and b"\r" not in piece and not _has_objects(piece):
            yield piece
            continue
        whole, end, rest = (rest + piece).rpartition(b"\n")
        if len(rest) > _HELD_MAX:
            whole, end, rest = whole + end, rest, b""
        yield _restored(whole + end)
    yield _restored(rest)


def _has_objects(text: bytes) -> bool:
    return bool(_OBJECT.search(text) or _OBJECT.match(b"\n" + text[:1_000]))


def _restored(text: bytes) -> bytes:
    text = _RETURNS.sub(b"\n", text)
    if _has_objects(text):
        text = b"".join(map(_line, text.splitlines(keepends=True)))
    return text


def _line(line: bytes) -> bytes:
    """Return the line in an object; any other line as it is."""
    begin = line.find(b"{")
    if begin < 0 or b'"' in line[:begin] or _KLOG.search(line, 0, begin):
        return line
    try:
        fields = msgspec.json.decode(line[begin:], type=dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line
    found = (fields.get(key) for key in _KEYS if not ("ts" in fields and "msg" in fields))
    text = next((text for text in found if isinstance(text, str) and text), "")
    is_part = text.endswith("\n") or len(text) >= _PART_MIN
    return (text + "\n" * (not is_part)).encode(errors="replace") if text else line


LINE_MAX = 64 * 2**20
"""Longest line in bytes; a log with a longer one is not read further."""
_VALUE_MAX = 2**22
"""Longest value of several lines, in bytes, whose end is waited for."""
_FIRST_LINE = re.compile(rb'(?:[^\n"]{0,200}[\W_])?[IWEF]\d{4} \d\d:\d\d:|\{"')
"""The begin of a line that is not within a value."""
_OPEN = (b"=<", b": {")
"""How the first line of a value of several lines ends: in klog's text form, and in ktesting."""


@dataclasses.dataclass(slots=True)
class Block:
    """Some whole lines of a log."""

    text: bytes
    offset: int
    """Place of the first byte in the decompressed log."""
    line: int
    """Number of the first line, from 1."""
    next_line: int = 0
    """Number of the line after it; 0 as long as its reader has not counted."""


class LogText:
    """One log, whose latest blocks can be looked at again."""

    def __init__(
        self, name: str, *, kept_bytes: int, is_only: bool = True, path: str | None = None
    ) -> None:
        """`kept_bytes`: how much of the text is kept for `between`; `is_only`: no other log.

        `path` is the file if it is not the name.
        """
        self.name = name
        self._path = name if path is None else path
        self.label = "" if is_only else f" of {name}"
        """Text that follows line numbers in sentences."""
        self.damage = ""
        """Why the log was not read to its end; empty if it was."""
        self.size = 0
        """Bytes read so far, decompressed and unwrapped."""
        self.gaps: collections.Counter[Gap] = collections.Counter()
        self._kept: collections.deque[Block] = collections.deque()
        self._kept_max = kept_bytes

    def blocks(self) -> Iterator[Block]:
        """Yield the log block by block; a value of several lines is in one block.

        `damage` and `size` are known at the end.
        """
        line = 1
        for text in self._whole_lines():
            block = Block(text, self.size, line)
            self.size += len(text)
            self._keep(block)
            yield block
            line = block.next_line or line + text.count(b"\n")

    def _whole_lines(self) -> Iterator[bytes]:
        rest = b""
        for piece in _unwrapped(self._pieces()):
            rest += piece
            cut = _cut(rest, len(piece))
            if cut:
                yield rest[:cut]
                rest = rest[cut:]
            elif len(rest) > LINE_MAX:
                self.damage = "it has a line of more than 64 MiB, and is not read further"
                return
        if rest:
            yield rest

    def _pieces(self) -> Iterator[bytes]:
        try:
            yield from log_files.pieces(self._path)
        except log_files.LogDamageError as damage:
            self.damage = str(damage)

    def _keep(self, block: Block) -> None:
        self._kept.append(block)
        while self._kept[0].offset + self._kept_max < block.offset:
            self._kept.popleft()

    def between(self, start: int, end: int) -> Iterator[Block]:
        """Yield the text from one place to another, as far as it is kept."""
        for block in self._kept:
            first, last = max(start - block.offset, 0), min(end - block.offset, len(block.text))
            if first < last:
                line = block.line + block.text.count(b"\n", 0, first)
                yield Block(block.text[first:last], block.offset + first, line)


def _cut(text: bytes, new: int) -> int:
    """Return where the whole lines end, before a value that may go on; 0 if there is none."""
    cut = text.rfind(b"\n", max(len(text) - new - 1, 0)) + 1
    lowest, last = max(cut - _VALUE_MAX, 0), cut
    while last > lowest:
        begin = text.rfind(b"\n", 0, last - 1) + 1
        if _FIRST_LINE.match(text, begin):
            if text[begin : text.find(b"\n", begin)].rstrip().endswith(_OPEN):
                return begin or (cut if len(text) > LINE_MAX else 0)
            return cut
        last = begin
    return cut

"""Restores the lines of a scheduler's log that another program passed on.

It undoes UTF-16, line ends of other systems, colours, and objects in JSON around each line, as
docker's files, `journalctl -o json`, `go test -json` and `stern -o json` have them. Prefixes of
lines stay: `record_search` reads behind them. Text in its usual form costs a few quick searches.
"""

import codecs
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from harness.log_analysis import log_files, messages

_HELD_MAX = 2**22
"""Longest line in bytes that is waited for; a longer one is passed on in parts."""
_PART_MIN = 1_000
"""Shortest text without a line end that goes on in the next object, as docker and Go cut lines."""
_BOM = "\ufeff".encode()
_COLOUR = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_RETURNS = re.compile(rb"\r+\n?")
_OBJECT = re.compile(rb'\n(?:\{|[^IWEF\s{}"][^\n"{]{0,200}\{) ?"(?!ts":)')
"""The begin of a line in JSON, perhaps behind a prefix, that is not klog's own form."""
_KLOG = re.compile(rb"[IWEF]\d{4} \d\d:\d\d:")
_CUT_KEYS = ("log", "Output")
"""Keys of values that end with a line end, unless the line was cut."""
_KEYS = (*_CUT_KEYS, "MESSAGE", "message", "msg", "line", "textPayload")


def unwrapped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text as the scheduler wrote it, given any pieces of a log.

    Lines before a LogDamageError come before it.
    """
    rest, failure = b"", None
    try:
        for piece in _in_utf8(pieces):
            if not rest and _is_plain(piece):
                yield piece
                continue
            rest += piece
            cut = rest.rfind(b"\n", len(rest) - len(piece)) + 1
            if not cut and len(rest) > _HELD_MAX:
                cut = len(rest)
            if cut:
                yield _restored(rest[:cut])
                rest = rest[cut:]
    except log_files.LogDamageError as damage:
        failure = damage
    if rest:
        yield _restored(rest)
    if failure is not None:
        raise failure


def _in_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = iter(pieces)
    first = next(rest, b"")
    encoding = _encoding(first)
    if not encoding:
        yield first.removeprefix(_BOM)
        yield from rest
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in itertools.chain([first], rest):
        yield decoder.decode(piece).encode(errors="replace").removeprefix(_BOM)


def _encoding(first: bytes) -> str:
    """Return the name of UTF-16 in one of its orders, which a log may have without a mark."""
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16-le" if first.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    sample = first[:200]
    for name, place in (("utf-16-le", 1), ("utf-16-be", 0)):
        if len(sample) > 1 and not any(sample[place::2]) and any(sample):
            return name
    return ""


def _is_plain(text: bytes) -> bool:
    return b"\x1b" not in text and b"\r" not in text and not _has_objects(text)


def _has_objects(text: bytes) -> bool:
    return bool(_OBJECT.search(text) or _OBJECT.match(b"\n" + text[:1_000]))


def _restored(text: bytes) -> bytes:
    if b"\x1b" in text:
        text = b"".join(map(_uncoloured, text.splitlines(keepends=True)))
    if b"\r" in text:
        text = _RETURNS.sub(b"\n", text)
    if _has_objects(text):
        text = b"".join(map(_line, text.splitlines(keepends=True)))
    return text


def _uncoloured(line: bytes) -> bytes:
    """Return a line of a scheduler without colours; one of another program stays as it is."""
    return _COLOUR.sub(b"", line) if line.startswith(b"\x1b") or b'"' in line else line


def _line(line: bytes) -> bytes:
    """Return the line in an object; any other line as it is."""
    begin = line.find(b"{")
    if begin < 0 or b'"' in line[:begin] or _KLOG.search(line, 0, begin):
        return line
    try:
        fields = msgspec.json.decode(line[begin:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line
    if not isinstance(fields, dict) or ("ts" in fields and "msg" in fields):
        return line
    text = _text(fields)
    return (_line(text) if text.startswith(b"{") else text) or line


def _text(fields: dict[str, Any]) -> bytes:
    """Return the text of an object with its line end; empty if it has none of the keys."""
    for key in _KEYS:
        text = _as_bytes(fields.get(key))
        if text and text not in messages.BY_TEXT:
            is_part = key in _CUT_KEYS and len(text) >= _PART_MIN
            return text if text.endswith(b"\n") or is_part else text + b"\n"
    return b"\n" if "Action" in fields else b""


def _as_bytes(value: object) -> bytes:
    """Return text, which `journalctl` writes as a list of numbers if it has odd characters."""
    if isinstance(value, str):
        return value.encode(errors="replace")
    if isinstance(value, list):
        try:
            return bytes(value)
        except (TypeError, ValueError):
            return b""
    return b""

"""Finds the lines of a log that matter, without looking at the other ones."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.log_analysis import messages, text_blocks
from harness.log_analysis.log_records import LogRecord
from harness.log_analysis.messages import Message

_ANY = b"|".join(re.escape(text) for text in sorted(messages.BY_TEXT, key=len, reverse=True))
_TEXT = re.compile(rb'\] (?:"|[^\s":\]]{1,100}: )?(' + _ANY + rb')(?:["\s,]|$)')
"""The end of a header and a message: klog quotes it, ktesting names the logger before it."""
_JSON = re.compile(rb'"msg": ?"(' + _ANY + rb')"')
_HEADER = re.compile(
    rb"(?:[^\"\n]{0,200}?[\s\]])?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9}[ \d]*[^\]\s\"]*"
)
"""All that may be before the `]`: a prefix without quotes, severity, time, number, place."""
_KEYS = (
    *("ts", "msg", "pod", "node", "claim", "uid", "version", "resourceVersion", "cacheKey"),
    *("description", "device", "resourceclaims", "allocation", "err", "reason"),
)
"""The fields of a line in JSON that are kept; others can be whole API objects."""
_CLOSING = re.compile(rb"^(?:[^\n\"]{0,120} )?>(?: .*)?$", re.M)
_CLOSING_BRACE = re.compile(rb"^[ \t]*\}(?: [^\n]*)?$", re.M)
"""The end of a map as ktesting writes it; more keys may follow on the same line."""
_HEADER_MAX = 4096
"""Longest line of text, in bytes, that is analysed."""


def records(file: text_blocks.LogText) -> Iterator[LogRecord]:
    """Yield the lines of a log that have one of the messages, in the order of the file."""
    for block in file.blocks():
        yield from _of_block(file, block)


def _of_block(file: text_blocks.LogText, block: text_blocks.Block) -> Iterator[LogRecord]:
    text, number, counted = block.text, block.line, 0
    for found in _hits(text):
        start = text.rfind(b"\n", 0, found.start()) + 1
        number += text.count(b"\n", counted, start)
        counted = start
        end = text.find(b"\n", found.end() - 1)
        line = text[start : end if end >= 0 else len(text)]
        message = messages.BY_TEXT[found[1]]
        if found.re is _TEXT:
            record = _of_text(file, block, found, line, (number, start, message))
        else:
            record = _of_json(file, line, (number, block.offset + start, message))
        if record is not None:
            yield record


def _hits(text: bytes) -> Iterator[re.Match[bytes]]:
    in_json = list(_JSON.finditer(text))
    if not in_json:
        return _TEXT.finditer(text)
    return iter(sorted([*in_json, *_TEXT.finditer(text)], key=re.Match[bytes].start))


def _of_text(
    file: text_blocks.LogText,
    block: text_blocks.Block,
    found: re.Match[bytes],
    line: bytes,
    place: tuple[int, int, Message],
) -> LogRecord | None:
    number, start, message = place
    if found.start() - start > _HEADER_MAX:
        return None
    if not _HEADER.fullmatch(block.text, start, found.start()):
        return None
    document = b""
    if message is Message.RESERVED and line.endswith(b"=<"):
        document = _document(block.text, start + len(line) + 1, _CLOSING)
    elif message in messages.GATHER_ENDS:
        document = line
        if line.endswith(b"{"):
            document = _document(block.text, start + len(line) + 1, _CLOSING_BRACE)
    return LogRecord(file, number, block.offset + start, message, line[:_HEADER_MAX], document)


def _document(text: bytes, start: int, end: re.Pattern[bytes]) -> bytes:
    """Return the lines up to the one that ends the value; empty if there is no such line."""
    closing = end.search(text, start)
    if closing is None:
        return b""
    return text[start : closing.end() if end is _CLOSING_BRACE else closing.start()]


def _of_json(
    file: text_blocks.LogText, line: bytes, place: tuple[int, int, Message]
) -> LogRecord | None:
    begin = line.find(b"{")
    try:
        fields: Any = msgspec.json.decode(line[begin:]) if begin >= 0 else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    number, offset, message = place
    if not isinstance(fields, dict) or fields.get("msg") != message:
        return None
    kept = {key: fields[key] for key in _KEYS if key in fields}
    document = line if message in messages.GATHER_ENDS else b""
    return LogRecord(file, number, offset, message, line[:_HEADER_MAX], document, kept)

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
_KLOG = re.compile(
    rb"(?:|\S+ std(?:out|err) [FP] )"
    rb"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} +(\d+) [^\]\s\"]+\.go:\d+"
)
"""All that kube-scheduler writes before the `]`, with its process id."""
_HEADER = re.compile(
    rb"(?:|[^\"\n]{0,200}?[\s\]])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9}[ \d]*[^\]\s\"]*"
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
_WITH_DOCUMENT = messages.GATHER_ENDS | {Message.RESERVED}
_HEADER_MAX = 4096
"""Longest line of text, in bytes, that is analysed."""


def records(file: text_blocks.LogText) -> Iterator[LogRecord]:
    """Yield the lines of a log that have one of the messages, in the order of the file."""
    for block in file.blocks():
        text, number, counted = block.text, block.line, 0
        for found in _hits(text):
            start = text.rfind(b"\n", 0, found.start()) + 1
            number += text.count(b"\n", counted, start)
            counted = start
            read = _of_text if found.re is _TEXT else _of_json
            record = read(file, block, found, number, start)
            if record is not None:
                yield record
        block.next_line = number + text.count(b"\n", counted)


def _hits(text: bytes) -> Iterator[re.Match[bytes]]:
    in_json = list(_JSON.finditer(text))
    if not in_json:
        return _TEXT.finditer(text)
    return iter(sorted([*in_json, *_TEXT.finditer(text)], key=re.Match[bytes].start))


def _of_text(
    file: text_blocks.LogText,
    block: text_blocks.Block,
    found: re.Match[bytes],
    number: int,
    start: int,
) -> LogRecord | None:
    text, (place, after) = block.text, found.span()
    klog = _KLOG.fullmatch(text, start, place)
    if klog is None and not (
        place - start <= _HEADER_MAX and _HEADER.fullmatch(text, start, place)
    ):
        return None
    message, line = messages.BY_TEXT[found[1]], _line(text, start, after)
    document = b""
    if message in _WITH_DOCUMENT:
        document = _value_of_lines(text, start + len(line) + 1, line, message)
    process = klog[1].decode() if klog else ""
    if len(line) > _HEADER_MAX:
        line = line[:_HEADER_MAX]
    return LogRecord(file, number, block.offset + start, message, line, document, None, process)


def _line(text: bytes, start: int, after: int) -> bytes:
    end = text.find(b"\n", after - 1)
    return text[start : end if end >= 0 else len(text)]


def _value_of_lines(text: bytes, after: int, line: bytes, message: Message) -> bytes:
    """Return the value that follows a line; empty if it has none, or no end."""
    if message is Message.RESERVED:
        return _allocation(text, after) if line.endswith(b"=<") else b""
    return _document(text, after, _CLOSING_BRACE) if line.endswith(b"{") else line


def _allocation(text: bytes, start: int) -> bytes:
    """Return the lines of a value as klog writes it: indented by tabs, up to a line with ` >`."""
    end = text.find(b"\n >", start) + 1
    document = text[start:end]
    if text[start : start + 1] == b"\t" and document.count(b"\n") == document.count(b"\n\t") + 1:
        return document
    return _document(text, start, _CLOSING)


def _document(text: bytes, start: int, end: re.Pattern[bytes]) -> bytes:
    """Return the lines up to the one that ends the value; empty if there is no such line."""
    closing = end.search(text, start)
    if closing is None:
        return b""
    return text[start : closing.end() if end is _CLOSING_BRACE else closing.start()]


def _of_json(
    file: text_blocks.LogText,
    block: text_blocks.Block,
    found: re.Match[bytes],
    number: int,
    start: int,
) -> LogRecord | None:
    message, line = messages.BY_TEXT[found[1]], _line(block.text, start, found.end())
    begin = line.find(b"{")
    try:
        fields: Any = msgspec.json.decode(line[begin:]) if begin >= 0 else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(fields, dict) or fields.get("msg") != message:
        return None
    kept = {key: fields[key] for key in _KEYS if key in fields}
    document = line if message in messages.GATHER_ENDS else b""
    return LogRecord(
        file, number, block.offset + start, message, line[:_HEADER_MAX], document, kept
    )

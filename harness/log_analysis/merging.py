"""Puts the lines of several files in order of time, and finds those of one process.

Rotated parts of a log may overlap: a line that two of them have counts once.
"""

import collections
import heapq
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from harness.log_analysis import messages, text_blocks
from harness.log_analysis.log_records import LogRecord
from harness.log_analysis.messages import Gap, Message

_ANY = b"|".join(re.escape(text) for text in sorted(messages.BY_TEXT, key=len, reverse=True))
_TEXT = re.compile(rb'\] (?:\\{0,7}"|[^\s":\]]{1,100}: )?(' + _ANY + rb')(?:["\s,\\]|$)')
"""The end of a header and a message: klog quotes it, ktesting names the logger before it.

Backslashes are those of a wrapper that is not known.
"""
_JSON = re.compile(rb'"msg": ?"(' + _ANY + rb')"')
_HEADER = re.compile(
    rb"(|[^\"\n]{0,200}?[\W_])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9}"
    rb"(?: +(\d+) [^\]\s\"]+\.go:\d+|[ \d]*[^\]\s\"]*)"
)
"""All before the `]`: a prefix without quotes, severity, time, process or thread, and place.

Only a place in Go makes the number one of a process: kube-scheduler wrote the line.
"""
_KEYS = (
    *("ts", "msg", "pod", "node", "claim", "uid", "version", "resourceVersion", "cacheKey"),
    *("description", "device", "resourceclaims", "allocation", "err", "reason"),
)
"""The fields of a line in JSON that are kept; others can be whole API objects."""
_CLOSING = re.compile(rb"\s*>(?: |$)")
"""The line that ends a value in klog's text form; more keys may follow."""
_CLOSING_BRACE = re.compile(rb"[ \t]*\}(?: |$)")
"""The end of a map as ktesting writes it; more keys may follow on the same line."""
_NEXT = re.compile(rb"(?:[^\n\"]{0,200}[\W_])?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d")
"""The begin of another line, before which a value must have ended."""
_TAIL = 40
"""Bytes of the end of a line that are looked at; blanks may follow the last sign."""
_WHOLE = b'=<\n\t{\n\t  "devices": {'
"""The begin of an allocation in klog's text form, behind the line that it belongs to."""
_DEVICES = b'"devices": {'
"""The second line of an allocation."""
_WITH_DOCUMENT = messages.GATHER_ENDS | {Message.RESERVED}
_SUPPRESSED = re.compile(rb"\bSuppressed (\d+) messages from ")
"""The sentence of journald about lines that it did not keep."""
_PLACE = re.compile(rb"[^\s:]+\.go:\d+: $")
"""The place in the source, which only the first line of an entry has in ktesting."""
_BLANKS = re.compile(rb"[ \t]+")
_DIFFERING = (
    (re.compile(rb"([^\w\s])"), rb"\\\1"),
    (re.compile(rb"\d+(?:\\[.,]\d+)?"), rb"\\d+(?:[.,]\\d+)?"),
    (re.compile(rb"\\:$"), rb"[:-]"),
    (re.compile(rb" $"), rb"\\s?"),
    (re.compile(rb" "), rb"[ \\t]+"),
    (re.compile(rb"std(?:out|err)(.*?)[FP](?=\\s)"), rb"std(?:out|err)\1[FP]"),
)
"""Parts of a prefix, and the patterns of what stands there in other lines.

`grep` writes a hyphen for the colon in lines beside those that it looks for.
"""
_HEADER_MAX = 4096
"""Longest line of text, in bytes, that is analysed."""


def records(file: text_blocks.LogText) -> Iterator[LogRecord]:
    """Yield the lines of a log that have one of the messages, in the order of the file.

    Lines that cannot be read are counted in the file's `gaps`.
    """
    count = 0
    for block in file.blocks():
        text, number, counted = block.text, block.line, 0
        for found in _hits(text):
            start = text.rfind(b"\n", 0, found.start()) + 1
            number += text.count(b"\n", counted, start)
            counted = start
            read = _of_text if found.re is _TEXT else _of_json
            record = read(file, block, found, number, start)
            if record is not None:
                count += 1
                yield record
            elif messages.BY_TEXT[found[1]] in messages.EVIDENCE:
                file.gaps[Gap.LINE] += 1
        block.next_line = number + text.count(b"\n", counted)
        file.gaps[Gap.ORPHAN] += sum(1 for _ in _orphans(text))
        if b"Suppressed " in text:
            file.gaps[Gap.SUPPRESSED] += sum(map(int, _SUPPRESSED.findall(text)))
        file.gaps[Gap.LINE] += 0 if count else text.count(Message.OBSERVED.encode())


def _orphans(text: bytes) -> Iterator[int]:
    """Yield the places of allocations whose first line, with the message, is missing."""
    are_whole = text.count(_DEVICES) == text.count(_WHOLE)
    place = -1 if are_whole else text.find(_DEVICES)
    while place >= 0:
        brace_end = text.rfind(b"\n", 0, place)
        first_end = text.rfind(b"\n", 0, max(brace_end, 0))
        brace = text[first_end + 1 : brace_end].rstrip()
        first = text[max(first_end - _TAIL, 0) : max(first_end, 0)].rstrip()
        is_begin = first_end > 0 and brace.endswith(b"{") and b'"' not in brace
        if is_begin and not first.endswith((b"=<", b"[", b",")):
            yield place
        place = text.find(_DEVICES, place + 1)


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
    header = _HEADER.fullmatch(text, start, place) if place - start <= _HEADER_MAX else None
    if header is None:
        return None
    message, line = messages.BY_TEXT[found[1]], _line(text, start, after)
    document = b""
    if message in _WITH_DOCUMENT:
        document = _value_of_lines(text, start + len(line) + 1, line, message, header[1])
    process = header[2].decode() if header[2] else ""
    if len(line) > _HEADER_MAX:
        line = line[:_HEADER_MAX]
    return LogRecord(file, number, block.offset + start, message, line, document, None, process)


def _line(text: bytes, start: int, after: int) -> bytes:
    end = text.find(b"\n", after - 1)
    return text[start : end if end >= 0 else len(text)]


def _value_of_lines(text: bytes, after: int, line: bytes, message: Message, prefix: bytes) -> bytes:
    """Return the value that follows a line; empty if it has none, or no end."""
    if message is not Message.RESERVED:
        has_more = line.rstrip().endswith(b"{")
        return _document(text, after, prefix, _CLOSING_BRACE) if has_more else line
    if not line.rstrip().endswith(b"=<"):
        return b""
    return _indented(text, after) or _document(text, after, prefix, _CLOSING)


def _indented(text: bytes, start: int) -> bytes:
    """Return the lines of a value as klog writes it: indented by tabs, up to a line with ` >`."""
    end = text.find(b"\n >", start) + 1
    document = text[start:end]
    is_whole = document.startswith(b"\t") and document.count(b"\n") == document.count(b"\n\t") + 1
    return document if is_whole else b""


def _document(text: bytes, start: int, prefix: bytes, end: re.Pattern[bytes]) -> bytes:
    """Return the lines up to the one that ends the value, each without its prefix."""
    lines, shape = [], _shape(prefix)
    for line in _lines(text, start):
        if _NEXT.match(line):
            return b""
        content = shape.sub(b"", line, count=1)
        lines.append(content)
        if end.match(content):
            return b"\n".join(lines if end is _CLOSING_BRACE else lines[:-1])
    return b""


def _lines(text: bytes, start: int) -> Iterator[bytes]:
    while (end := text.find(b"\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _shape(prefix: bytes) -> re.Pattern[bytes]:
    """Return what matches the prefixes of the lines after one: numbers, times and blanks differ."""
    shape = _BLANKS.sub(b" ", _PLACE.sub(b"", prefix))
    for differing, pattern in _DIFFERING:
        shape = differing.sub(pattern, shape)
    return re.compile(b"^" + shape)


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


RECENT_MAX = 10_000
"""Lines among which duplicates are looked for."""
_VARYING = re.compile(r"\.(?:gz|xz|zst|log|json|txt)\b|[\d._-]+|part", re.I)
"""The part of a name in which parts of a log differ."""


class _Log:
    """Files that are parts of the log of one scheduler."""

    def __init__(self, number: int, stem: str) -> None:
        self.number = number
        self.stem = stem
        self.recent: collections.OrderedDict[bytes, None] = collections.OrderedDict()

    def remember(self, record: LogRecord) -> None:
        self.recent[record.text] = None
        if len(self.recent) > RECENT_MAX:
            self.recent.popitem(last=False)


def merged(files: Sequence[text_blocks.LogText]) -> Iterator[tuple[int, LogRecord]]:
    """Yield the lines of all files in order, each once and with the number of its log, from 0.

    A file continues a log if it begins with one of its lines, or if its name differs as those of
    rotated parts do. Any other is the log of another process.
    """
    logs: list[_Log] = []
    chosen: dict[text_blocks.LogText, _Log] = {}
    for record in _in_order(files):
        log = chosen.get(record.file)
        if log is None:
            log = chosen[record.file] = _log_of(record, logs)
        if record.text not in log.recent:
            log.remember(record)
            yield log.number, record


def _in_order(files: Sequence[text_blocks.LogText]) -> Iterator[LogRecord]:
    if len(files) == 1:
        return records(files[0])
    sources = [_by_time(file, index) for index, file in enumerate(files)]
    return (entry[2] for entry in heapq.merge(*sources, key=lambda entry: entry[:2]))


def _by_time(file: text_blocks.LogText, index: int) -> Iterator[tuple[int, int, LogRecord]]:
    """Yield the lines of a file with times that never go back."""
    latest = 0
    for record in records(file):
        latest = max(latest, record.time_us)
        yield latest, index, record


def _log_of(record: LogRecord, logs: list[_Log]) -> _Log:
    """Return the log that a file continues, given its first line; a new one if it is none."""
    stem = _stem(record.file.name)
    for log in logs:
        if log.stem == stem or record.text in log.recent:
            return log
    logs.append(_Log(len(logs), stem))
    return logs[-1]


def _stem(name: str) -> str:
    """Return the name without what rotation changes, which stands behind `.log`."""
    path = pathlib.PurePath(name)
    before, dot, _ = path.name.rpartition(".log")
    varying = before + dot or _VARYING.sub("", path.name) or "log"
    return str(path.with_name(varying)) if path.name else name

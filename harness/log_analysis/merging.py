"""Puts the lines of several files in order of time, and finds those of one process."""

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
    rb"(?:|[^\"\n]{0,200}?[\W_])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9}"
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
_CLOSING = re.compile(rb" ?>(?: |$)")
"""The line that ends a value in klog's text form, behind its tab; more keys may follow."""
_CLOSED = re.compile(rb"(?:^|[ \t])>(?: |$)")
"""The same line, if it has no tab."""
_CLOSING_BRACE = re.compile(rb"^[^\n\"]*\}(?: |\r?$)", re.M)
"""The end of a map as ktesting writes it; more keys may follow on the same line."""
_NEXT = re.compile(rb"(?:[^\n\"]{0,200}[\W_])?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d")
"""The begin of another line, before which a value must have ended."""
_WHOLE = b'=<\n\t{\n\t  "devices": {'
"""The begin of an allocation in klog's text form, behind the line that it belongs to."""
_DEVICES = b'"devices": {'
_ORPHAN = re.compile(rb'(?:^|\n)([^\n]*)\n[^\n"]*\{[ \t]*\n[^\n"]*"devices": \{')
"""The second line of an allocation, the first one, and the line before them."""
_WITH_DOCUMENT = messages.GATHER_ENDS | {Message.RESERVED}
_SUPPRESSED = re.compile(rb"\bSuppressed (\d+) messages from ")
"""The sentence of journald about lines that it did not keep."""
_HEADER_MAX = 4096
"""Longest line of text, in bytes, that is analysed."""
_Place = tuple[text_blocks.LogText, int, int]
"""The file of a line, its number, and its place in the decompressed file."""


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
            record = read((file, number, block.offset + start), text, found, start)
            if record is not None:
                count += 1
                yield record
            elif messages.BY_TEXT[found[1]] in messages.EVIDENCE:
                file.gaps[Gap.LINE] += 1
        block.next_line = number + text.count(b"\n", counted)
        file.gaps[Gap.ORPHAN] += _orphans(text)
        if b"Suppressed " in text:
            file.gaps[Gap.SUPPRESSED] += sum(map(int, _SUPPRESSED.findall(text)))
        file.gaps[Gap.LINE] += 0 if count else text.count(Message.OBSERVED.encode())


def _orphans(text: bytes) -> int:
    """Return the number of allocations whose first line, with the message, is missing."""
    if text.count(_DEVICES) == text.count(_WHOLE):
        return 0
    before = (found[1].rstrip() for found in _ORPHAN.finditer(text))
    return sum(not line.endswith((b"=<", b"[", b",")) for line in before)


def _hits(text: bytes) -> Iterator[re.Match[bytes]]:
    in_json = list(_JSON.finditer(text))
    if not in_json:
        return _TEXT.finditer(text)
    return iter(sorted([*in_json, *_TEXT.finditer(text)], key=re.Match[bytes].start))


def _of_text(at: _Place, text: bytes, found: re.Match[bytes], start: int) -> LogRecord | None:
    place, after = found.span()
    header = _HEADER.fullmatch(text, start, place) if place - start <= _HEADER_MAX else None
    if header is None:
        return None
    message, line = messages.BY_TEXT[found[1]], _line(text, start, after)
    document = b""
    if message in _WITH_DOCUMENT:
        document = _value_of_lines(text, start + len(line) + 1, line, message)
    process = (header[1] or b"").decode()
    if len(line) > _HEADER_MAX:
        line = line[:_HEADER_MAX]
    return LogRecord(*at, message, line, document, None, process)


def _line(text: bytes, start: int, after: int) -> bytes:
    end = text.find(b"\n", after - 1)
    return text[start : end if end >= 0 else len(text)]


def _value_of_lines(text: bytes, after: int, line: bytes, message: Message) -> bytes:
    """Return the value that follows a line; empty if it has none, or no end."""
    if message is Message.RESERVED:
        return _document(text, after) if line.rstrip().endswith(b"=<") else b""
    if not line.rstrip().endswith(b"{"):
        return line
    end = _CLOSING_BRACE.search(text, after)
    lines = text[after : end.end()] if end else b""
    return b"" if _NEXT.search(lines) else lines


def _document(text: bytes, start: int) -> bytes:
    """Return the lines up to the one that ends the value, each behind the tab that klog writes."""
    found: list[bytes] = []
    while (end := text.find(b"\n", start)) >= 0:
        line, start = text[start:end], end + 1
        _, tab, content = line.rpartition(b"\t")
        if _CLOSING.match(content) if tab else _CLOSED.search(line):
            return b"\n".join(found)
        if tab:
            found.append(content)
        elif line.strip():
            return b""
    return b""


def _of_json(at: _Place, text: bytes, found: re.Match[bytes], start: int) -> LogRecord | None:
    message, line = messages.BY_TEXT[found[1]], _line(text, start, found.end())
    begin = line.find(b"{")
    try:
        fields: Any = msgspec.json.decode(line[begin:]) if begin >= 0 else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(fields, dict) or fields.get("msg") != message:
        return None
    kept = {key: fields[key] for key in _KEYS if key in fields}
    document = line if message in messages.GATHER_ENDS else b""
    return LogRecord(*at, message, line[:_HEADER_MAX], document, kept)


_VARYING = re.compile(r"\.(?:gz|xz|zst|log|json|txt)\b|[\d._-]+|part", re.I)
"""The part of a name in which parts of a log differ."""


def merged(files: Sequence[text_blocks.LogText]) -> Iterator[tuple[str, LogRecord]]:
    """Yield the lines of all files in order, with the name of their log.

    Files whose names differ as those of rotated parts do are one log; any other is that of another
    process.
    """
    stems = {file: _stem(file.name) for file in files}
    found = iter(records(files[0]))
    if len(files) > 1:
        timed = (_by_time(file, index) for index, file in enumerate(files))
        found = (entry[2] for entry in heapq.merge(*timed, key=lambda entry: entry[:2]))
    yield from ((stems[record.file], record) for record in found)


def _by_time(file: text_blocks.LogText, index: int) -> Iterator[tuple[int, int, LogRecord]]:
    latest = 0
    for record in records(file):
        latest = max(latest, record.time_us)
        yield latest, index, record


def _stem(name: str) -> str:
    """Return the name without what rotation changes, which stands behind `.log`."""
    path = pathlib.PurePath(name)
    before, dot, _ = path.name.rpartition(".log")
    varying = before + dot or _VARYING.sub("", path.name) or "log"
    return str(path.with_name(varying)) if path.name else name

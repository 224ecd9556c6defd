"""One line of a scheduler's log, and its values: klog's text form, ktesting's, or JSON."""

import datetime
import functools
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from harness.log_analysis import text_blocks
from harness.log_analysis.messages import Message

_TIME = re.compile(rb"[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{1,9}) *(\d*)")
_GO = re.compile(rb"(?:\S+ std(?:out|err) [FP] )?[IWEF]\d{4} [\d:.]+ +(\d+) [^\]\s]+\.go:\d+\]")
_ESCAPE = re.compile(r'\\(["\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4})')
_PLAIN = {"n": "\n", "r": "\r", "t": "\t"}
_CRI = re.compile(rb"^\S+ std(?:out|err) [FP] ", re.M)
"""The beginning of each line that a container runtime writes."""
_LIST_ITEM = re.compile(r'"([^"]*)"')
_DAY_US = 86_400_000_000


class LogRecord:
    """A line with a message that is analysed."""

    __slots__ = ("document", "fields", "file", "message", "number", "offset", "order", "text")

    def __init__(
        self,
        file: text_blocks.LogText,
        number: int,
        offset: int,
        message: Message,
        text: bytes,
        document: bytes = b"",
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        """See the attributes for the arguments."""
        self.file = file
        self.number = number
        """Line number in the file, from 1."""
        self.offset = offset
        """Place of the line in the decompressed file."""
        self.message = message
        self.text = text
        """The (first) line, without its end."""
        self.document = document
        """The lines of a value of several lines; empty if it has none, or has no end."""
        self.fields = fields
        """All fields of a line in JSON; None for text."""
        self.order = 0
        """Place among the lines of all files, in which they are analysed."""

    def value(self, key: str) -> str:
        """Return a value as text, an object as `namespace/name`; empty if it is missing or cut."""
        if self.fields is not None:
            return _as_text(self.fields.get(key))
        found = _pattern(key).search(self.text)
        if found is None:
            return ""
        if found[1] is not None:
            return _unescaped(found[1].decode(errors="replace"))
        return found[2].decode(errors="replace")

    def values(self, key: str) -> list[str]:
        """Return the values of a list; empty if it is missing."""
        if self.fields is not None:
            given = self.fields.get(key)
            return [_as_text(item) for item in given] if isinstance(given, list) else []
        found = _list_pattern(key).search(self.text)
        return _LIST_ITEM.findall(found[1].decode(errors="replace")) if found else []

    def parsed(self, key: str) -> Any:
        """Return the value of `key` that is a document; None if there is none, or it is cut."""
        if self.fields is not None:
            given = self.fields.get(key)
            return _parse(given) if isinstance(given, str) else given
        if b" std" in self.document:
            return _parse(_CRI.sub(b"", self.document))
        return _parse(self.document) if self.document else None

    @property
    def time_us(self) -> int:
        """Microseconds since the begin of the year, which klog's text form does not have."""
        if self.fields is not None:
            return _of_timestamp(self.fields.get("ts"))
        found = _TIME.search(self.text)
        return _of_header(found) if found else 0

    @property
    def thread(self) -> str:
        """The number in the header, a process id of kube-scheduler or a thread id; may be empty."""
        found = None if self.fields is not None else _TIME.search(self.text)
        return found[7].decode() if found else ""

    @property
    def process(self) -> str:
        """The id of the process, if the header shows it: kube-scheduler in klog's text form.

        Our scheduler and ktesting write the number of a thread instead.
        """
        if self.fields is not None:
            return ""
        found = _GO.match(self.text)
        return found[1].decode() if found else ""


@functools.cache
def _pattern(key: str) -> re.Pattern[bytes]:
    name = re.escape(key.encode())
    return re.compile(
        rb" " + name + rb'=(?:"((?:[^"\\]|\\.)*)"|(?:<[\w.]+>: )?([^\s"<\[]+)(?= |$))'
    )


@functools.cache
def _list_pattern(key: str) -> re.Pattern[bytes]:
    return re.compile(rb" " + re.escape(key.encode()) + rb"=\[([^\]]*)\]")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _PLAIN.get(code, code)


def _as_text(value: object) -> str:
    match value:
        case None:
            return ""
        case {"name": str(name), **rest}:
            return f"{rest['namespace']}/{name}" if rest.get("namespace") else name
        case dict():
            parts = {key.lower(): part for key, part in value.items()}
            return "/".join(str(parts.get(key, "")) for key in ("driver", "pool", "device"))
        case _:
            return str(value)


def _parse(text: bytes | str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _of_header(found: re.Match[bytes]) -> int:
    month, day, hour, minute, second = (int(part) for part in found.groups()[:5])
    try:
        days = (datetime.date(2000, month, day) - datetime.date(2000, 1, 1)).days
    except ValueError:
        return 0
    fraction = int(found[6].ljust(6, b"0")[:6])
    return days * _DAY_US + ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction


def _of_timestamp(milliseconds: object) -> int:
    """Convert `ts`; the date moves to the year in which `_of_header` counts."""
    if not isinstance(milliseconds, int | float):
        return 0
    try:
        moment = datetime.datetime.fromtimestamp(milliseconds / 1e3, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return 0
    days = (datetime.date(2000, moment.month, moment.day) - datetime.date(2000, 1, 1)).days
    of_day = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return days * _DAY_US + of_day * 1_000_000 + moment.microsecond

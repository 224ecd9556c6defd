"""One line of a scheduler's log, and its values: klog's text form, ktesting's, or JSON."""

import datetime
import functools
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from harness.log_analysis import text_blocks
from harness.log_analysis.messages import Message

_TIME = re.compile(rb"[IWEF](\d{4}) (\d\d):(\d\d):(\d\d)\.(\d{1,9}) *(\d*)")
_ESCAPE = re.compile(r'\\(["\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4})')
_PLAIN = {"n": "\n", "r": "\r", "t": "\t"}
_SOURCE = re.compile(
    rb"\[pod/\S+\] |[a-z][\w.-]* +\| |[a-z][\w.-]* [a-z][\w.-]* (?=[IWEF]\d{4} |\{)"
)
"""The prefix with the pod, as `kubectl logs --prefix`, compose and `stern` write it."""
_LIST_ITEM = re.compile(r'"([^"]*)"')
_DAY_US = 86_400_000_000
_BEGIN = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
"""The begin of the leap year in which times are counted: klog's headers have none."""
_QUOTE = ord('"')


class LogRecord(msgspec.Struct, eq=False, gc=False):
    """A line with a message that is analysed."""

    file: text_blocks.LogText
    number: int
    """Line number in the file, from 1."""
    offset: int
    """Place of the line in the decompressed file."""
    message: Message
    text: bytes
    """The (first) line, without its end."""
    document: bytes = b""
    """The lines of a value of several lines, without prefixes; empty if it has none, or no end."""
    fields: Mapping[str, Any] | None = None
    """All fields of a line in JSON; None for text."""
    process: str = ""
    """The id of the process, if the header shows it: kube-scheduler in klog's text form.

    Our scheduler and ktesting write the number of a thread instead.
    """
    order: int = 0
    """Place among the lines of all files, in which they are analysed."""

    def value(self, key: str) -> str:
        """Return a value as text, an object as `namespace/name`; empty if it is missing or cut."""
        if self.fields is not None:
            return _as_text(self.fields.get(key))
        text, mark = self.text, _mark(key)
        place = text.find(mark)
        if place < 0:
            return ""
        begin = place + len(mark)
        end = text.find(b'"', begin + 1)
        if end > 0 and text[begin] == _QUOTE and text.find(b"\\", begin, end) < 0:
            return text[begin + 1 : end].decode(errors="replace")
        found = _pattern(key).search(text)
        if found is None:
            return ""
        if found[1] is None:
            return found[2].decode(errors="replace")
        return _ESCAPE.sub(_character, found[1].decode(errors="replace"))

    def values(self, key: str) -> list[str]:
        """Return the values of a list; empty if it is missing."""
        if self.fields is not None:
            given = self.fields.get(key)
            return [_as_text(item) for item in given] if isinstance(given, list) else []
        found = re.search(rb" %b=\[([^\]]*)\]" % re.escape(key.encode()), self.text)
        return _LIST_ITEM.findall(found[1].decode(errors="replace")) if found else []

    def value_of_lines(self, key: str) -> Any:
        """Return a document, as bytes of JSON or decoded; None if there is none, or it is cut."""
        given = self.document or (self.fields or {}).get(key)
        return given.encode() if isinstance(given, str) else given

    @property
    def source(self) -> bytes:
        """The prefix that names the pod that wrote the line; empty if it has none."""
        found = None if self.text[:1] in b"IWEF{" else _SOURCE.match(self.text)
        return found[0] if found else b""

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
        if self.process or self.fields is not None:
            return self.process
        found = _TIME.search(self.text)
        return found[6].decode() if found else ""


@functools.cache
def _mark(key: str) -> bytes:
    return b" %b=" % key.encode()


@functools.cache
def _pattern(key: str) -> re.Pattern[bytes]:
    name = re.escape(key.encode())
    return re.compile(
        rb" " + name + rb'=(?:"((?:[^"\\]|\\.)*)"|(?:<[\w.]+>: )?([^\s"<\[]+)(?= |$))'
    )


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


def _of_header(found: re.Match[bytes]) -> int:
    date, hour, minute, second, fraction, _ = found.groups()
    days = _days(date)
    if days is None:
        return 0
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second)
    return days * _DAY_US + seconds * 1_000_000 + int(fraction.ljust(6, b"0")[:6])


@functools.lru_cache(1_000)
def _days(date: bytes) -> int | None:
    """Return the days since the begin of a leap year; None if there is no such date."""
    try:
        moment = datetime.date(2000, int(date[:2]), int(date[2:]))
    except ValueError:
        return None
    return (moment - datetime.date(2000, 1, 1)).days


def _of_timestamp(milliseconds: Any) -> int:
    try:
        moment = datetime.datetime.fromtimestamp(milliseconds / 1e3, datetime.UTC)
    except (TypeError, OverflowError, OSError, ValueError):
        return 0
    return (moment.replace(year=2000) - _BEGIN) // datetime.timedelta(microseconds=1)


_WRITE = re.compile(
    r"\b(?:put|patch) \"?[^\s\"]*/namespaces/([^/\s\"]+)/resourceclaims/([^/\s\"?:]+)/status"
    r"|\((?:put|patch) resourceclaims\.resource\.k8s\.io ([^)\s]+)\)",
    re.I,
)
"""A write of a claim's status in the text of an error: with its URL, or as the API server says."""
_NOT_LOST = (
    *("the object has been modified", "dial tcp", "connection refused", "no route to host"),
    *("no such host", "TLS handshake"),
)
"""Texts of errors of a write that was refused, or that was not sent; they count first."""
_LOST = (
    *("context deadline exceeded", "Client.Timeout", "i/o timeout", "request canceled"),
    *("connection reset", "broken pipe", "EOF", "connection lost", "GOAWAY"),
    *("use of closed network connection", "request timed out", "leader changed"),
    *("request did not complete", "unable to return a response in the time allotted"),
    *("no complete response", "no answer came"),
)


def unanswered_claim(record: LogRecord) -> str:
    """Return the claim whose status write got no answer, as `namespace/name`; empty: none is known.

    The namespace is that of the pod if the error has none.
    """
    text = record.value("err")
    write = _WRITE.search(text)
    if write is None:
        return ""
    error = text[write.end() if write[1] else 0 :]
    if any(part in error for part in _NOT_LOST) or not any(part in error for part in _LOST):
        return ""
    if write[1]:
        return f"{write[1]}/{write[2]}"
    namespace = record.value("pod").partition("/")[0]
    return f"{namespace}/{write[3]}" if namespace else ""


class _Result(msgspec.Struct, frozen=True):
    driver: str
    pool: str
    device: str
    adminAccess: bool | None = None  # noqa: N815 - the API's name
    shareID: str | None = None  # noqa: N815


class _Devices(msgspec.Struct, frozen=True):
    results: tuple[_Result, ...] = ()


class _Allocation(msgspec.Struct, frozen=True):
    devices: _Devices = _Devices()


_DECODER = msgspec.json.Decoder(_Allocation)


def devices(allocation: Any) -> tuple[str, ...] | None:
    """Return the devices of an allocation, as `driver/pool/device`; None if it cannot be read.

    It may be bytes of JSON, which are decoded at once, without the parts that are not asked.
    Devices for administrators and shares of a device are left out: several claims may have them.
    """
    try:
        if isinstance(allocation, bytes):
            return _exclusive(_DECODER.decode(allocation))
        return _exclusive(msgspec.convert(allocation, _Allocation))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _exclusive(allocation: _Allocation) -> tuple[str, ...]:
    names = (
        f"{result.driver}/{result.pool}/{result.device}"
        for result in allocation.devices.results
        if not result.adminAccess and not result.shareID
    )
    return tuple(dict.fromkeys(names))

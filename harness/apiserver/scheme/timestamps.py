"""Times as Go's `metav1.Time` and `MicroTime` parse and print them.

RFC 3339, in UTC, in whole seconds or microseconds. Errors have the texts of Go's `time` package.
"""

import datetime
import functools
import re

_SECONDS = "2006-01-02T15:04:05Z07:00"
_MICROS = "2006-01-02T15:04:05.000000Z07:00"
_ZONE = r"(Z|[+-]\d\d:\d\d)"
_DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_TIME = re.compile(rf"({_DATE})([.,]\d+)?{_ZONE}")
_MICRO_TIME = re.compile(rf"({_DATE})(\.\d{{6}}){_ZONE}")
_LAYOUT_PARTS = re.compile(r"\.0+|Z07:00|\d+|\D")


@functools.lru_cache(4096)
def canonical(text: str) -> str:
    """Return a time in UTC, cut to seconds. Raises ValueError with Go's message if malformed."""
    moment = _parse(_TIME, text, _SECONDS)
    return _written(moment, "seconds")


@functools.lru_cache(4096)
def canonical_micro(text: str) -> str:
    """Return a time in UTC with microseconds, which must have six digits.

    Raises ValueError with Go's message if it is malformed.
    """
    moment = _parse(_MICRO_TIME, text, _MICROS)
    return _written(moment, "microseconds")


def later(text: str, seconds: int) -> str:
    """Return a time plus a number of seconds, which may be negative, cut to seconds."""
    moment = datetime.datetime.fromisoformat(text) + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _parse(shape: re.Pattern[str], text: str, layout: str) -> datetime.datetime:
    parts = shape.fullmatch(text)
    if parts is None:
        raise ValueError(_mismatch(text, layout))
    date, fraction, zone = parts.groups()
    micros = ((fraction or "").replace(",", ".")[1:7]).ljust(6, "0")
    offset = "+00:00" if zone == "Z" else zone
    try:
        moment = datetime.datetime.fromisoformat(f"{date}.{micros}{offset}")
        return moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f'parsing time "{text}": {_out_of_range(date)} out of range') from error


def _written(moment: datetime.datetime, unit: str) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec=unit) + "Z"


def _mismatch(text: str, layout: str) -> str:
    """Return Go's message for the first part of the layout that the text does not match."""
    rest = text
    for part in _LAYOUT_PARTS.findall(layout):
        match = _matcher(part).match(rest)
        if not match:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
        rest = rest[match.end() :]
    return f'parsing time "{text}": extra text: "{rest}"'


def _matcher(part: str) -> re.Pattern[str]:
    if part == "Z07:00":
        return re.compile(_ZONE)
    if part.startswith("."):
        return re.compile(rf"\.\d{{{len(part) - 1}}}")
    if not part.isdigit():
        return re.compile(re.escape(part))
    fraction = r"(\.\d+)?" if part == "05" else ""
    return re.compile(rf"\d{{{len(part)}}}{fraction}")


def _out_of_range(date: str) -> str:
    """Return the first part of a date and time that is out of range."""
    month, day = int(date[5:7]), int(date[8:10])
    if not 1 <= month <= 12:
        return "month"
    if not 1 <= day <= 28:
        return "day"
    for part, value, limit in (
        ("hour", date[11:13], 24),
        ("minute", date[14:16], 60),
        ("second", date[17:19], 60),
    ):
        if int(value) >= limit:
            return part
    return "day"

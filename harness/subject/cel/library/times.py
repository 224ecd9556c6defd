"""Timestamps and durations. They have microseconds where upstream has nanoseconds."""

import datetime
import re
import zoneinfo
from collections.abc import Callable
from typing import Any

from harness.subject.cel.values import EvaluationError, no_overload

_PARTS = re.compile(r"([0-9]*\.?[0-9]+|[0-9]+\.)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_SECOND = datetime.timedelta(seconds=1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def duration(value: Any) -> datetime.timedelta:
    """Return the duration that a text such as `1h30m` says."""
    if isinstance(value, datetime.timedelta):
        return value
    if not isinstance(value, str):
        raise no_overload()
    body = value.removeprefix("-") if value.startswith("-") else value.removeprefix("+")
    parts = _PARTS.findall(body)
    if body != "0" and (not parts or "".join(map("".join, parts)) != body):
        raise EvaluationError(f'time: invalid duration "{value}"')
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    try:
        return datetime.timedelta(seconds=-seconds if value.startswith("-") else seconds)
    except OverflowError:
        raise EvaluationError(f'time: invalid duration "{value}"') from None


def timestamp(value: Any) -> datetime.datetime:
    """Return the timestamp that a text in RFC 3339 or a number of seconds since 1970 says."""
    if isinstance(value, datetime.datetime):
        return value
    try:
        if type(value) is int:
            return _EPOCH + value * _SECOND
        if isinstance(value, str) and _TIMESTAMP.fullmatch(value):
            return datetime.datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        pass
    if isinstance(value, str):
        raise EvaluationError(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00"')
    raise no_overload()


def add(left: Any, right: Any) -> Any:
    """Return a sum with a duration in it."""
    kinds = {type(left), type(right)}
    if datetime.timedelta in kinds and kinds <= {datetime.timedelta, datetime.datetime}:
        return _exact(lambda: left + right)
    raise no_overload()


def subtract(left: Any, right: Any) -> Any:
    """Return the difference of two timestamps or durations, or of one of each."""
    kinds = {type(left), type(right)}
    is_known = kinds <= {datetime.timedelta, datetime.datetime}
    if is_known and not (type(left) is datetime.timedelta and type(right) is datetime.datetime):
        return _exact(lambda: left - right)
    raise no_overload()


def _exact(operation: Callable[[], Any]) -> Any:
    try:
        return operation()
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


def text(value: datetime.datetime | datetime.timedelta) -> str:
    """Return a timestamp in RFC 3339, or a duration in seconds."""
    if isinstance(value, datetime.timedelta):
        seconds = value.total_seconds()
        return f"{int(seconds)}s" if seconds == int(seconds) else f"{seconds:.6f}".rstrip("0") + "s"
    shown = value.astimezone(datetime.UTC).isoformat()
    return shown.replace("+00:00", "Z")


def _part(get: Callable[[datetime.datetime], int]) -> Callable[..., int]:
    def function(value: Any, zone: str = "UTC") -> int:
        if not isinstance(value, datetime.datetime):
            raise no_overload()
        return get(value.astimezone(_zone(zone)))

    return function


def _zone(name: str) -> datetime.tzinfo:
    if found := re.fullmatch("([+-]?)([0-9]{2}):([0-9]{2})", name):
        offset = datetime.timedelta(hours=int(found[2]), minutes=int(found[3]))
        return datetime.timezone(-offset if found[1] == "-" else offset)
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _either(seconds_each: float, of_timestamp: Callable[..., int]) -> Callable[..., int]:
    """Return a function of a timestamp's part, or of a whole duration in that unit."""

    def function(value: Any, *zone: str) -> int:
        if isinstance(value, datetime.timedelta):
            return int(value.total_seconds() / seconds_each)
        return of_timestamp(value, *zone)

    return function


def _milliseconds(value: Any, *zone: str) -> int:
    if isinstance(value, datetime.timedelta):
        return value.microseconds // 1000
    return _part(lambda time: time.microsecond // 1000)(value, *zone)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "duration": duration,
    "timestamp": timestamp,
    "getFullYear": _part(lambda time: time.year),
    "getMonth": _part(lambda time: time.month - 1),
    "getDate": _part(lambda time: time.day),
    "getDayOfMonth": _part(lambda time: time.day - 1),
    "getDayOfWeek": _part(lambda time: time.isoweekday() % 7),
    "getDayOfYear": _part(lambda time: time.timetuple().tm_yday - 1),
    "getHours": _either(3600, _part(lambda time: time.hour)),
    "getMinutes": _either(60, _part(lambda time: time.minute)),
    "getSeconds": _either(1, _part(lambda time: time.second)),
    "getMilliseconds": _milliseconds,
}
"""The functions by name."""

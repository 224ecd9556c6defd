"""Durations as kubectl prints them, coarser the longer they are.

After k8s.io/apimachinery/pkg/util/duration.
"""

import datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


def between(since: str, now: str) -> str:
    """Return the duration between two RFC 3339 times, `<unknown>` if `since` is empty."""
    if not since:
        return "<unknown>"
    elapsed = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(since)
    return human(int(elapsed.total_seconds()))


def human(seconds: int) -> str:
    """Format a number of seconds: `119s`, `2m`, `7h59m`, `3d`, …"""
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")

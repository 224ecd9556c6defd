"""Times as Go's `metav1.Time` and `MicroTime` parse and print them.

RFC 3339, in UTC, in whole seconds or microseconds.
"""

import datetime
import functools
import re

_ZONE = r"(Z|[+-]\d\d:\d\d)"
_DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_TIME = re.compile(rf"({_DATE})([.,]\d+)?{_ZONE}")
_MICRO_TIME = re.compile(rf"({_DATE})(\.\d{{6}}){_ZONE}")


def later(text: str, seconds: int) -> str:
    """Return a time plus a number of seconds, which may be negative, cut to seconds."""
    moment = datetime.datetime.fromisoformat(text) + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@functools.lru_cache(4096)
def _canonical(text: str, shape: re.Pattern[str], unit: str) -> str:
    parts = shape.fullmatch(text)
    if parts is None:
        raise ValueError(f'parsing time "{text}": it is not a time of RFC 3339')
    date, fraction, zone = parts.groups()
    micros = ((fraction or "").replace(",", ".")[1:7]).ljust(6, "0")
    offset = "+00:00" if zone == "Z" else zone
    try:
        moment = datetime.datetime.fromisoformat(f"{date}.{micros}{offset}")
        utc = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise ValueError(f'parsing time "{text}": {error}') from error
    return utc.isoformat(timespec=unit) + "Z"


canonical = functools.partial(_canonical, shape=_TIME, unit="seconds")
"""Returns a time in UTC, cut to seconds. Raises ValueError if it is malformed."""
canonical_micro = functools.partial(_canonical, shape=_MICRO_TIME, unit="microseconds")
"""Returns it with microseconds, which must have six digits. Raises ValueError as well."""

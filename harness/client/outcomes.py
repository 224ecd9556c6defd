"""The outcome of an API call: whether it took effect.

The outcome is unknown unless this table says otherwise: the server may have executed the call.
"""

from harness.client import apis, transports
from harness.history import records

DEFINITE_FAILURES = frozenset({400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429})
"""Status codes which guarantee that the call had no effect."""


def of_status(status: int) -> records.Outcome:
    if 200 <= status < 300:
        return "ok"
    return "fail" if status in DEFINITE_FAILURES else "unknown"


def of_error(error: BaseException) -> records.Outcome:
    if isinstance(error, apis.ApiError):
        return of_status(error.code)
    if isinstance(error, transports.TransportError) and not error.sent:
        return "fail"
    if isinstance(error, ConnectionRefusedError):
        return "fail"
    return "unknown"

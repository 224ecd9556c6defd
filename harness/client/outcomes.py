"""What an API call's end says about whether it took effect.

One table. What is not in it is unknown: the server may or may not have done it.
"""

from harness.client import apis, transports
from harness.history import records

DEFINITE_FAILURES = frozenset({400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429})
"""Answers with which the server says that it did not do it."""


def of_status(status: int) -> records.Outcome:
    """The outcome of a call that was answered."""
    if 200 <= status < 300:
        return "ok"
    return "fail" if status in DEFINITE_FAILURES else "unknown"


def of_error(error: BaseException) -> records.Outcome:
    """The outcome of a call that ended in an exception."""
    if isinstance(error, apis.ApiError):
        return of_status(error.code)
    if isinstance(error, transports.TransportError) and not error.sent:
        return "fail"
    if isinstance(error, ConnectionRefusedError):
        return "fail"
    return "unknown"

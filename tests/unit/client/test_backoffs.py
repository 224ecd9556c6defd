"""Waits that grow, and that begin again after a success."""

import pytest

from harness import errors
from harness.client import apis, backoffs, transports


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (transports.TransportError("refused", sent=False), True),
        (transports.TransportError("cut off", sent=True), True),
        *((apis.ApiError(code, "", ""), True) for code in (429, 500, 503, 504)),
        *((apis.ApiError(code, "", ""), False) for code in (400, 401, 403, 404, 409, 410, 422)),
        (errors.WaitTimeoutError("late"), False),
        (
            apis.ApiError(403, "Forbidden", 'pods is forbidden: User "a" cannot list resource'),
            True,
        ),
        (apis.ApiError(403, "Forbidden", "pods is forbidden: exceeded quota: cpu"), False),
    ],
)
def test_what_may_pass(error: errors.HarnessError, expected: bool) -> None:
    assert backoffs.is_transient(error) is expected


def test_waits_double_up_to_the_longest_and_begin_again_after_a_success() -> None:
    backoff = backoffs.Backoff(first_s=0.5, max_s=3.0)
    assert [backoff.next_s() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.reset()
    assert backoff.next_s() == 0.5


def test_a_watch_that_delivered_something_or_lasted_begins_again() -> None:
    backoff = backoffs.Backoff(first_s=1.0, max_s=8.0)

    def after(*, lasted_s: float = 0.0, received: int = 0, failed: bool = True) -> float:
        return backoff.after_watch(lasted_s=lasted_s, received=received, failed=failed)

    assert [after(), after(), after()] == [1.0, 2.0, 4.0]
    assert after(received=1) == 1.0
    assert after() == 2.0
    assert after(lasted_s=60.0) == 1.0
    assert after(received=1, failed=False) == 0.0
    assert after(lasted_s=60.0, failed=False) == 0.0
    # a server that accepts watches and closes them is not asked in a loop
    assert [after(failed=False), after(failed=False), after(failed=False)] == [1.0, 2.0, 4.0]

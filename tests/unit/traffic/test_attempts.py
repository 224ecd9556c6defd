"""Calls are repeated while the API server is away, and never after a definite answer."""

import pytest

from harness import errors
from harness.client import apis, transports
from harness.traffic import attempts

REFUSED = transports.TransportError("refused", sent=False)
CUT_OFF = transports.TransportError("cut off", sent=True)
BUSY = apis.ApiError(429, "TooManyRequests", "")
DOWN = apis.ApiError(503, "ServiceUnavailable", "")
CONFLICT = apis.ApiError(409, "Conflict", "")
EXISTS = apis.ApiError(409, "AlreadyExists", "")
INVALID = apis.ApiError(422, "Invalid", "")


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_WAIT_S", 0.0)


def repeat(*answers: errors.HarnessError | None, stop: bool = False) -> tuple[attempts.Result, int]:
    """The result, and the number of answers that were not asked for."""
    left = list(answers)
    result = attempts.repeat(lambda: left.pop(0), stop=lambda: stop)
    return result, len(left)


@pytest.mark.parametrize(
    ("answers", "failure", "may_exist"),
    [
        ([None], None, True),
        ([REFUSED, BUSY, REFUSED, None], None, True),
        ([CONFLICT, None], None, True),
        ([INVALID], INVALID, False),
        ([REFUSED, INVALID], INVALID, False),
        ([EXISTS], EXISTS, False),
        ([REFUSED, EXISTS], EXISTS, False),
        ([CUT_OFF, EXISTS], EXISTS, True),
        ([DOWN, REFUSED, EXISTS], EXISTS, True),
    ],
)
def test_the_last_answer_counts_and_an_unknown_outcome_is_remembered(
    answers: list[errors.HarnessError | None],
    failure: errors.HarnessError | None,
    may_exist: bool,
) -> None:
    result, left = repeat(*answers)
    assert left == 0
    assert (result.failure, result.may_exist) == (failure, may_exist)


@pytest.mark.parametrize(("answer", "may_exist"), [(REFUSED, False), (CUT_OFF, True)])
def test_a_user_that_is_told_to_stop_does_not_try_again(
    answer: errors.HarnessError, may_exist: bool
) -> None:
    result, left = repeat(answer, None, stop=True)
    assert left == 1
    assert (result.failure, result.may_exist) == (answer, may_exist)


def test_a_user_gives_up_when_the_api_server_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "AWAY_MAX_S", 0.0)
    result, left = repeat(REFUSED, None)
    assert left == 1
    assert result.failure is REFUSED

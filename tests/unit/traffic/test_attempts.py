"""Calls are repeated while the API server is away; work begins beside work that waits."""

import itertools
from collections.abc import Callable

import gevent
import gevent.event
import pytest

from harness import errors
from harness.client import apis, transports
from harness.scenario import loading, traffic_specs
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


def repeat(
    *answers: errors.HarnessError | None, stop: bool = False
) -> tuple[tuple[errors.HarnessError | None, bool], int]:
    """The result, and the number of answers that were not asked for."""
    left = list(answers)
    result = attempts.until_answered(lambda: left.pop(0), stop=lambda: stop)
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
    assert result == (failure, may_exist)


@pytest.mark.parametrize(("answer", "may_exist"), [(REFUSED, False), (CUT_OFF, True)])
def test_a_user_that_is_told_to_stop_does_not_try_again(
    answer: errors.HarnessError, may_exist: bool
) -> None:
    result, left = repeat(answer, None, stop=True)
    assert left == 1
    assert result == (answer, may_exist)


def test_a_user_gives_up_when_the_api_server_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "AWAY_MAX_S", 0.0)
    result, left = repeat(REFUSED, None)
    assert left == 1
    assert result[0] is REFUSED


# --------------------------------------------------- further work beside work that waits

PATIENCE_S = 0.001


class _Jobs:
    """Jobs that end at once, or wait until they are told to; the load is `count` jobs."""

    def __init__(self, *, count: int, wait: Callable[[int], bool]) -> None:
        self._count, self._wait = count, wait
        self.begun: list[str] = []
        self.at_once = self.most_at_once = 0
        self.beside: list[tuple[str, str]] = []
        self.may_end = gevent.event.Event()

    def run(self, *, patience_s: float) -> None:
        attempts.surging(
            self._job,
            (str(number) for number in itertools.count()),
            patience_s=patience_s,
            goes_on=lambda: len(self.begun) < self._count,
            note=lambda name, since_ns, beside: self.beside.append((name, beside)),
        )

    def _job(self, name: str) -> None:
        self.begun.append(name)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        if self._wait(int(name)):
            self.may_end.wait()
        self.at_once -= 1


def test_jobs_that_end_soon_follow_one_another() -> None:
    jobs = _Jobs(count=20, wait=lambda number: False)
    jobs.run(patience_s=3600)
    assert jobs.begun == [str(number) for number in range(20)]
    assert jobs.most_at_once == 1
    assert jobs.beside == []


def test_another_job_begins_beside_one_that_lasts() -> None:
    jobs = _Jobs(count=2, wait=lambda number: number == 0)
    user = gevent.spawn(jobs.run, patience_s=PATIENCE_S)
    while len(jobs.begun) < 2:
        gevent.sleep(PATIENCE_S)
    assert jobs.beside == [("0", "1")]
    assert not user.ready()  # it waits for the first one to the end
    jobs.may_end.set()
    user.get(timeout=60)


def test_only_so_many_jobs_of_a_user_wait_at_once_and_one_that_ends_makes_room() -> None:
    most = attempts.AT_ONCE_MAX
    jobs = _Jobs(count=most + 2, wait=lambda number: True)
    user = gevent.spawn(jobs.run, patience_s=PATIENCE_S)
    while len(jobs.begun) < most:
        gevent.sleep(PATIENCE_S)
    gevent.sleep(20 * PATIENCE_S)
    assert len(jobs.begun) == most
    jobs.may_end.set()
    user.get(timeout=60)
    assert len(jobs.begun) == most + 2
    assert jobs.most_at_once <= most


def test_what_a_job_raises_ends_the_user() -> None:
    def fail(name: str) -> None:
        raise ValueError(name)

    with pytest.raises(ValueError, match="a"):
        attempts.surging(
            fail, iter("abc"), patience_s=3600, goes_on=lambda: True, note=lambda *_: None
        )


@pytest.mark.parametrize(
    ("scenario", "change", "least_s"),
    [
        ("pod-churn", "gives_up=true", 3),
        ("pod-churn", "gives_up=false", 0),
        ("pod-churn", "completes=true", 0),
        ("shared-claims", "gives_up=true", 3),
        ("shared-claims", "gives_up=false", 0),
    ],
)
def test_users_that_need_their_pods_do_one_thing_after_the_other(
    scenario: str, change: str, least_s: float
) -> None:
    changes = ["traffic.patience_s=3", f"traffic.{change}"]
    traffic = loading.load(scenario, overrides=changes).scenario.traffic
    assert isinstance(traffic, traffic_specs.TimedTraffic)
    assert traffic.patience_s == 3
    assert traffic.surge_after_s == least_s

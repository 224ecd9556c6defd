"""How users repeat: a call until it is answered, and a job beside others that wait.

A call is repeated while the API server is away, overloaded or unsure. Each attempt is an operation
of its own in the journal: a call that got no whole response keeps its unknown outcome. Without
this, an object that could not be created at once would be missing for the rest of the run, and
users would do nothing but fail until the API server is back.

A scheduler tries a new pod at once, but one that it could not place only after a back-off. With
back-offs of seconds, users that do one thing after the other leave it idle while devices are free,
and then nothing races: so they begin further work beside work that waits.
"""

from collections.abc import Callable, Iterator

import gevent

from harness import clocks, errors
from harness.client import apis, backoffs, outcomes

FIRST_WAIT_S, MAX_WAIT_S = 0.05, 1.0
"""First and longest wait between two attempts, in seconds."""
AWAY_MAX_S = 60.0
"""Seconds after which a user gives up a call."""
AT_ONCE_MAX = 5
"""Jobs of one user at once. With many more, the API server has to keep up with pods that never
run before their user gives them up."""


def until_answered(
    call: Callable[[], errors.HarnessError | None], *, stop: Callable[[], bool]
) -> tuple[errors.HarnessError | None, bool]:
    """Make a call until it gets a definite answer, for at most AWAY_MAX_S or until `stop()`.

    `call` returns its failure, None if it succeeded. Returns the failure of the last attempt, and
    whether one may have succeeded.
    """
    backoff = backoffs.Backoff(first_s=FIRST_WAIT_S, max_s=MAX_WAIT_S)
    give_up_ns = clocks.monotonic_ns() + int(AWAY_MAX_S * 1e9)
    unsure = False
    while (failure := call()) is not None:
        unsure |= outcomes.of_error(failure) == "unknown"
        is_conflict = isinstance(failure, apis.ApiError) and failure.is_conflict
        may_succeed = is_conflict or backoffs.is_transient(failure)
        if not may_succeed or clocks.monotonic_ns() >= give_up_ns or stop():
            return failure, unsure
        gevent.sleep(backoff.next_s())
    return None, True


def surging(
    job: Callable[[str], None],
    names: Iterator[str],
    *,
    patience_s: float,
    goes_on: Callable[[], bool],
    note: Callable[[str, int, str], None],
) -> None:
    """Do a job again and again while `goes_on()`, each time with the next name.

    The next one begins when all before have ended, or when the newest has lasted for `patience_s`;
    then `note` gets its name, the time at which it began, and the name of the next. Returns when
    all have ended.
    """
    running: set[gevent.Greenlet] = set()
    newest, since_ns = "", 0
    while goes_on():
        name = next(names)
        if running:
            note(newest, since_ns, name)
        newest, since_ns = name, clocks.monotonic_ns()
        running.add(gevent.spawn(job, name))
        _wait(running, until_ns=since_ns + int(patience_s * 1e9))
    gevent.joinall(running, raise_error=True)


def _wait(running: set[gevent.Greenlet], *, until_ns: int) -> None:
    while running:
        left_s = max(until_ns - clocks.monotonic_ns(), 0) / 1e9
        may_begin = len(running) < AT_ONCE_MAX
        if may_begin and not left_s:
            return
        ended = set(gevent.wait(running, timeout=left_s if may_begin else None, count=1))
        running -= ended
        for item in ended:
            item.get()

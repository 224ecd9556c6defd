"""Begins further work beside work that waits, so that a scheduler with long back-offs stays busy.

A scheduler tries a new pod at once, but one that it could not place only after a back-off. With
back-offs of seconds, users that do one thing after the other leave it idle while devices are free,
and then nothing races.
"""

from collections.abc import Callable, Iterator

import gevent

from harness import clocks

AT_ONCE_MAX = 5
"""Jobs of one user at once. With many more, the API server has to keep up with pods that never
run before their user gives them up."""


def repeat(
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
    """Wait until no job runs, or until the time is past and another one may run."""
    while running:
        left_s = max(until_ns - clocks.monotonic_ns(), 0) / 1e9
        may_begin = len(running) < AT_ONCE_MAX
        if may_begin and not left_s:
            return
        ended = set(gevent.wait(running, timeout=left_s if may_begin else None, count=1))
        running -= ended
        for item in ended:
            item.get()

"""Repeats calls that found the API server away, overloaded or unsure.

Each attempt is an operation of its own in the journal: a call that got no whole response keeps its
unknown outcome. Without this, an object that could not be created at once would be missing for the
rest of the run, and users would do nothing but fail until the API server is back.
"""

import dataclasses
from collections.abc import Callable

import gevent

from harness import clocks, errors
from harness.client import apis, backoffs, outcomes

FIRST_WAIT_S, MAX_WAIT_S = 0.05, 1.0
"""First and longest wait between two attempts, in seconds."""
AWAY_MAX_S = 60.0
"""Seconds after which a user gives up a call."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The end of the last attempt."""

    failure: errors.HarnessError | None
    """None: it succeeded."""
    may_have_succeeded: bool
    """True if the outcome of an attempt is unknown."""

    @property
    def may_exist(self) -> bool:
        """True unless it is certain that a creation failed."""
        return self.failure is None or self.may_have_succeeded


def repeat(call: Callable[[], errors.HarnessError | None], *, stop: Callable[[], bool]) -> Result:
    """Make a call until it gets a definite answer, for at most AWAY_MAX_S or until `stop()`.

    `call` returns its failure, None if it succeeded.
    """
    backoff = backoffs.Backoff(first_s=FIRST_WAIT_S, max_s=MAX_WAIT_S)
    give_up_ns = clocks.monotonic_ns() + int(AWAY_MAX_S * 1e9)
    unsure = False
    while (failure := call()) is not None:
        unsure |= outcomes.of_error(failure) == "unknown"
        late = clocks.monotonic_ns() >= give_up_ns
        if not _may_succeed(failure) or late or stop():
            break
        gevent.sleep(backoff.next_s())
    return Result(failure=failure, may_have_succeeded=unsure)


def _may_succeed(failure: errors.HarnessError) -> bool:
    is_conflict = isinstance(failure, apis.ApiError) and failure.is_conflict
    return is_conflict or backoffs.is_transient(failure)

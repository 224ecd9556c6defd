"""The one wrapper that injects every fault: it records the window and heals in the end."""

from collections.abc import Callable
from typing import Protocol

from harness import clocks, concurrency, errors
from harness.history import plans
from harness.run.faulting import fault_journal

STEP_S = 0.05
"""Seconds between two looks at whether a fault has to end."""


class Ending(Protocol):
    """The times at which a fault begins and has to end."""

    @property
    def load_begun(self) -> concurrency.Event:
        """Set when the load has begun, from which on the time of a fault counts."""

    @property
    def over(self) -> concurrency.Event:
        """Set when all faults have to end."""

    @property
    def is_abandoned(self) -> bool:
        """True if the run ends at once, so that processes need not be started again."""


class Injection(Protocol):
    """How a fault is injected and healed. Every method may raise HarnessError."""

    needs_subject: bool
    """True if it begins when the subject is ready at the earliest."""

    def begin(self) -> None:
        """Switch the fault on, if it is one that is switched on, and return at once."""

    def last(self, ending: Ending) -> None:
        """Let the fault last; return when it is done, and soon when it has to end."""

    def heal(self, ending: Ending) -> None:
        """Undo what is left of it; called once, whatever happened before."""


def wait_for_end(
    ending: Ending, *, duration_s: float | None, is_done: Callable[[], bool] = lambda: False
) -> None:
    """Return when a fault is done, has lasted this long under load, or has to end.

    `duration_s` None: there is no such limit.
    """
    deadline_ns = float("inf")
    while not ending.over.wait(STEP_S) and not is_done():
        now_ns = clocks.monotonic_ns()
        if duration_s is not None and ending.load_begun.is_set():
            deadline_ns = min(deadline_ns, now_ns + duration_s * 1e9)
        if now_ns >= deadline_ns:
            return


def inject(
    fault: plans.PlannedFault,
    injection: Injection,
    journal: fault_journal.FaultJournal,
    *,
    ending: Ending,
) -> None:
    """Inject a fault, heal it, and record its window with the errors of both."""
    window = journal.open_window(fault.name, fault.kind)
    try:
        try:
            injection.begin()
        finally:
            window.has_begun = True
        injection.last(ending)
    except Exception as error:  # noqa: BLE001 - the edge of a thread: the record shows the error
        window.errors.append(f"it could not be injected as planned: {_told(error)}")
    finally:
        _heal(injection, window, ending)


def _heal(injection: Injection, window: fault_journal.Window, ending: Ending) -> None:
    try:
        injection.heal(ending)
    except Exception as error:  # noqa: BLE001 - as above
        window.errors.append(f"it could not be healed: {_told(error)}")
    finally:
        window.ended_ns = clocks.monotonic_ns()


def _told(error: Exception) -> str:
    """Return an error as text; those that are not ours need their type to be understood."""
    is_ours = isinstance(error, errors.HarnessError)
    return str(error) if is_ours else f"{type(error).__name__}: {error}"

"""The progress that a run reports; the command line displays it."""

from collections.abc import Sequence
from typing import Protocol


class Progress(Protocol):
    """A display of progress; called from the run's own thread."""

    def phase(self, name: str) -> None:
        """Show that the run has entered a phase."""

    def advance(self, done: int, total: int, unit: str) -> None:
        """Show how much of a phase is done, such as 47 of 200 `pods`; `done` may exceed `total`."""

    def note(self, text: str) -> None:
        """Show a line that stays."""

    def faults(self, active: Sequence[str]) -> None:
        """Show which faults are on; called often."""


class Silent:
    """Displays nothing."""

    def phase(self, name: str) -> None:
        """Ignore the phase."""

    def advance(self, done: int, total: int, unit: str) -> None:
        """Ignore the progress."""

    def note(self, text: str) -> None:
        """Ignore the line."""

    def faults(self, active: Sequence[str]) -> None:
        """Ignore the faults."""

"""What a run tells whoever watches it; the display itself belongs to the command line."""

from typing import Protocol


class Progress(Protocol):
    """Called from the run's own thread."""

    def phase(self, name: str) -> None:
        """The run goes on to its next phase."""

    def advance(self, done: int, total: int | None) -> None:
        """So much of the phase's work is done; total is None when nobody knows it."""


class Silent:
    """Nobody watches."""

    def phase(self, name: str) -> None:
        """Say nothing."""

    def advance(self, done: int, total: int | None) -> None:
        """Say nothing."""

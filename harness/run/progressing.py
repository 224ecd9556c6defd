"""What a run tells whoever watches it; the display itself belongs to the command line."""

from typing import Protocol


class Progress(Protocol):
    """Called from the run's own thread."""

    def phase(self, name: str) -> None:
        """The run goes on to its next phase."""

    def advance(self, done: int, total: int, unit: str) -> None:
        """So much of the phase's work is done: 47 of 200 `pods`. It may become more than the total."""


class Silent:
    """Nobody watches."""

    def phase(self, name: str) -> None:
        """Say nothing."""

    def advance(self, done: int, total: int, unit: str) -> None:
        """Say nothing."""

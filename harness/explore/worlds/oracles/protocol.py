"""The protocol of an oracle, and the oracles of a world together."""

from collections.abc import Callable, Iterable
from typing import Protocol

from harness.apiserver.storage import watch_cache


class Oracle(Protocol):
    """Judges every commit of a run."""

    @property
    def finding(self) -> str | None:
        """Description of the first violation; None if there is none.

        Its first word is the kind of the finding, which shrinking keeps.
        """

    def on_commit(self, commit: watch_cache.Commit) -> None:
        """Judge a commit."""


class Oracles:
    """Passes every commit to all oracles until one of them has a finding."""

    def __init__(self, oracles: Iterable[Oracle], on_found: Callable[[], None]) -> None:
        """`on_found` is called at the first finding."""
        self._oracles, self._on_found = list(oracles), on_found

    @property
    def finding(self) -> str | None:
        """The first finding; None if there is none."""
        found = (oracle.finding for oracle in self._oracles)
        return next((finding for finding in found if finding is not None), None)

    def on_commit(self, commit: watch_cache.Commit) -> None:
        for oracle in self._oracles:
            oracle.on_commit(commit)
            if oracle.finding is not None:
                self._on_found()

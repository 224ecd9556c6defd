"""Judges while the run goes on, commit by commit: a run that has failed need not go on."""

from collections.abc import Callable
from typing import Any, TypedDict

import msgspec

from harness.apiserver.storage import watch_cache
from harness.checks import live_spotter


class _Claim(TypedDict, total=False):
    """What of a claim matters; all else is not even decoded."""

    status: dict[str, Any]


_decoder = msgspec.json.Decoder(_Claim)


class Oracle:
    """Listens to the store."""

    def __init__(self, on_found: Callable[[], None]) -> None:
        """`on_found` is called at the first violation, and after it."""
        self._on_found = on_found
        self._spotter = live_spotter.Spotter()

    @property
    def finding(self) -> str | None:
        """The violation in words; None while there is none."""
        if self._spotter.found is None:
            return None
        device, first, second = self._spotter.found
        return f"device {device} is allocated to {first} and to {second}"

    def on_commit(self, commit: watch_cache.Commit) -> None:
        """A commit has happened."""
        if commit.resource.plural != "resourceclaims":
            return
        gone = commit.type == "DELETED"
        claim = None if gone else _decoder.decode(commit.object.data)
        self._spotter.note(commit.object.name, claim)
        if self._spotter.found is not None:
            self._on_found()

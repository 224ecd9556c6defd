"""The oracle: it judges every commit during the run, so that a failed run can end early."""

from collections.abc import Callable
from typing import Any, TypedDict

import msgspec

from harness.apiserver.storage import watch_cache
from harness.checks import live_spotter


class _Claim(TypedDict, total=False):
    """The fields of a claim that matter; others are not decoded."""

    status: dict[str, Any]


_decoder = msgspec.json.Decoder(_Claim)


class Oracle:
    """Watches the store's commits for a double allocation."""

    def __init__(self, on_found: Callable[[], None]) -> None:
        """Create an oracle.

        `on_found` is called at the first violation and at every later commit of a claim.
        """
        self._on_found = on_found
        self._spotter = live_spotter.Spotter()

    @property
    def finding(self) -> str | None:
        """Description of the violation; None if there is none."""
        if self._spotter.found is None:
            return None
        device, first, second = self._spotter.found
        return f"device {device} is allocated to {first} and to {second}"

    def on_commit(self, commit: watch_cache.Commit) -> None:
        """Judge a commit."""
        if commit.resource.plural != "resourceclaims":
            return
        gone = commit.type == "DELETED"
        claim = None if gone else _decoder.decode(commit.object.data)
        self._spotter.note(commit.object.name, claim)
        if self._spotter.found is not None:
            self._on_found()

"""Judges while the run goes on, commit by commit: a run that has failed need not go on."""

import msgspec

from harness.apiserver import watching
from harness.checks import spotting


class Oracle:
    """Listens to the store."""

    def __init__(self) -> None:
        self._spotter = spotting.Spotter()

    @property
    def finding(self) -> str | None:
        """The violation in words; None while there is none."""
        if self._spotter.found is None:
            return None
        device, first, second = self._spotter.found
        return f"device {device} is allocated to {first} and to {second}"

    def on_commit(self, commit: watching.Commit) -> None:
        """A commit has happened."""
        if commit.resource.plural != "resourceclaims":
            return
        gone = commit.type == "DELETED"
        claim = None if gone else msgspec.json.decode(commit.object.data)
        self._spotter.note(commit.object.name, claim)

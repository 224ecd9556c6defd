"""How far an informer has come, by the resource versions of what it delivers."""

from harness.model.objects import Object


class PassedVersion:
    """The highest resource version that an informer has passed: every event up to it has come.

    The events of a list come in any order, so that they count only when all have come. The caller
    holds a lock.
    """

    def __init__(self) -> None:
        self.version = 0
        self._is_listing = False

    def begin_list(self) -> None:
        """Let no event count before the end of the list."""
        self._is_listing = True

    def end_list(self, version: str) -> None:
        self._is_listing = False
        self._pass(int(version))

    def deliver(self, obj: Object) -> None:
        """Pass the version of an object that was delivered, also as deleted."""
        if not self._is_listing:
            self._pass(version_of(obj))

    def covers(self, obj: Object) -> bool:
        """Return whether all events have come up to the version of this object."""
        return version_of(obj) <= self.version

    def _pass(self, version: int) -> None:
        self.version = max(self.version, version)


def version_of(obj: Object) -> int:
    """Return the resourceVersion as an integer, as kube-scheduler's assume cache does."""
    return int(obj["metadata"]["resourceVersion"])

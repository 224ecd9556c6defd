"""The moments for which other clients wait: a pod is bound, a claim is allocated or freed, …"""

from collections.abc import Iterator

from harness import concurrency
from harness.apiserver.storage import watch_cache


class Moments:
    """Watches the commits of a run; each moment happens once."""

    def __init__(self) -> None:
        self._events: dict[str, concurrency.Event] = {}
        self._allocated: set[str] = set()
        self.allocations: concurrency.Queue[str] = concurrency.Queue("allocations")
        """The name of a claim each time it gets an allocation."""
        self.recorded: dict[str, list[str]] = {}
        """Pod -> the names of its generated claims, as first recorded in its status."""

    def wait(self, moment: str) -> None:
        """Wait until a moment has come."""
        self._event(moment).wait()

    def on_commit(self, commit: watch_cache.Commit) -> None:
        """Note the moments of a commit."""
        for moment in self._of(commit):
            self._event(moment).set()

    def _event(self, moment: str) -> concurrency.Event:
        if moment not in self._events:
            self._events[moment] = concurrency.Event(f"moment {moment}")
        return self._events[moment]

    def _of(self, commit: watch_cache.Commit) -> Iterator[str]:
        name, data = commit.object.name, commit.object.data
        if commit.resource.plural == "pods" and commit.type != "DELETED":
            if b'"nodeName"' in data:
                yield f"bound {name}"
            if name not in self.recorded and b'"resourceClaimStatuses"' in data:
                statuses = commit.object.document()["status"]["resourceClaimStatuses"]
                names = [item.get("resourceClaimName") for item in statuses]
                self.recorded[name] = [claim for claim in names if claim]
                yield f"recorded {name}"
        elif commit.resource.plural == "resourceclaims":
            if b'"allocation"' in data and commit.type != "DELETED":
                if name not in self._allocated:
                    self._allocated.add(name)
                    self.allocations.put(name)
                    yield f"allocated {name}"
            elif name in self._allocated:
                self._allocated.discard(name)
                yield f"freed {name}"

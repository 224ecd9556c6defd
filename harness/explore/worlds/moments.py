"""Moments of a run, by which the parts of its world know when to happen."""

import collections
from collections.abc import Callable, Iterator

from harness import concurrency
from harness.apiserver.storage import watch_cache
from harness.explore.worlds import parts

_OTHERS = {parts.START, parts.BEGIN, parts.ANY_TIME, parts.AT_REST}


class Moments:
    """Watches the commits of a run; each moment happens once.

    Those of a pod: `created`, `bound`, `running`, `deleted`, `gone`; `recorded`: its status names
    generated claims. Those of a claim: `allocated`, `freed`, `deleted`, `gone`. The name of the
    object follows; without one it is any of them. `written`: a claim was changed. `stopped`: a
    scheduler was.
    """

    def __init__(self, setting: parts.Setting, perform: Callable[[parts.Part], None]) -> None:
        self._awaited = {moment for part in setting.parts for moment in part.when.split(", ")}
        self.are_awaited = bool(self._awaited - _OTHERS) or setting.has((parts.DEVICE_DRIVER,))
        """True if a commit can bring one of them."""
        self._perform = perform
        self._events: dict[str, concurrency.Event] = {}
        self._at_once: dict[str, list[parts.Part]] = collections.defaultdict(list)
        self._allocated: set[str] = set()
        self.allocations: concurrency.Queue[str] = concurrency.Queue("allocations")
        """The name of a claim each time it gets an allocation."""
        self.recorded: dict[str, list[str]] = {}
        """Pod -> the names of its generated claims, as first recorded in its status."""

    def wait(self, moment: str) -> None:
        self._event(moment).wait()

    def perform_at(self, part: parts.Part) -> None:
        """Let a part happen within the commit that brings its moment."""
        self._at_once[part.when].append(part)

    def on_commit(self, commit: watch_cache.Commit) -> None:
        for moment in self._of(commit):
            for name in dict.fromkeys((moment, moment.partition(" ")[0])):
                self.come(name)

    def come(self, moment: str) -> None:
        """Let everything happen that waits for a moment."""
        if moment in self._awaited:
            self._event(moment).set()
            for part in self._at_once.pop(moment, ()):
                self._perform(part)

    def _event(self, moment: str) -> concurrency.Event:
        if moment not in self._events:
            self._events[moment] = concurrency.Event(f"moment {moment}")
        return self._events[moment]

    def _of(self, commit: watch_cache.Commit) -> Iterator[str]:
        if commit.resource.plural not in ("pods", "resourceclaims"):
            return
        if commit.type == "DELETED" or b'"deletionTimestamp"' in commit.object.data:
            yield f"deleted {commit.object.name}"
        if commit.type == "DELETED":
            yield f"gone {commit.object.name}"
        if commit.resource.plural == "pods" and commit.type != "DELETED":
            yield from self._of_pod(commit.object.name, commit)
        elif commit.resource.plural == "resourceclaims":
            yield from self._of_claim(commit.object.name, commit)

    def _of_pod(self, name: str, commit: watch_cache.Commit) -> Iterator[str]:
        data = commit.object.data
        if commit.type == "ADDED":
            yield f"created {name}"
        if b'"nodeName"' in data:
            yield f"bound {name}"
        if b'"phase":"Running"' in data:
            yield f"running {name}"
        if name not in self.recorded and b'"resourceClaimStatuses"' in data:
            statuses = commit.object.document()["status"]["resourceClaimStatuses"]
            names = [item.get("resourceClaimName") for item in statuses]
            self.recorded[name] = [claim for claim in names if claim]
            yield f"recorded {name}"

    def _of_claim(self, name: str, commit: watch_cache.Commit) -> Iterator[str]:
        if commit.type == "MODIFIED":
            yield "written"
        if b'"allocation"' in commit.object.data and commit.type != "DELETED":
            if name not in self._allocated:
                self._allocated.add(name)
                self.allocations.put(name)
                yield f"allocated {name}"
        elif name in self._allocated:
            self._allocated.discard(name)
            yield f"freed {name}"

"""The commits of a world as its oracles see them, each decoded once, and the state at rest."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from harness.apiserver.storage import watch_cache
from harness.explore.worlds import world_fixtures
from harness.model.objects import Object

T = TypeVar("T")
_EXTENDED = "deviceclass.resource.kubernetes.io/"
ENTRY = "resource.kubernetes.io/pod-claim-name"
"""The annotation of a generated claim with the entry of its pod."""


class Known:
    """The newest version of each claim, pod and slice, by name."""

    def __init__(self) -> None:
        self.claims: dict[str, Object] = {}
        self.pods: dict[str, Object] = {}
        self.slices: dict[str, Object] = {}
        self._tables = {
            "resourceclaims": self.claims,
            "pods": self.pods,
            "resourceslices": self.slices,
        }

    def see(self, commit: watch_cache.Commit) -> "Seen | None":
        """Note a commit; return None for one of another kind."""
        plural, name = commit.resource.plural, commit.object.name
        table = self._tables.get(plural)
        if table is None:
            return None
        document = msgspec.json.decode(commit.object.data)
        before = table.pop(name, None)
        if commit.type != "DELETED":
            table[name] = document
        return Seen(plural, name, document, before, known=self, is_gone=commit.type == "DELETED")


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """A commit of a claim, a pod or a slice, with what is known after it."""

    plural: str
    name: str
    object: Object
    """In its new version; in the last one if it is gone."""
    before: Object | None
    """In the version before; None: it is new."""
    known: Known
    is_gone: bool

    @property
    def is_claim(self) -> bool:
        return self.plural == "resourceclaims"


class Oracle:
    """Judges every commit of a run."""

    finding: str | None = None
    """Description of the first violation; None if there is none."""

    def on_seen(self, seen: Seen) -> None:
        """Judge a commit."""

    def find(self, finding: str | None) -> None:
        """Note a violation, if it is the first one; None: there is none."""
        self.finding = self.finding or finding


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The objects of the API at rest, and who is there."""

    pods: list[Object]
    claims: list[Object]
    slices: list[Object]
    nodes: list[Object]
    schedulers: Sequence[str] = (world_fixtures.SCHEDULER,)
    """The names of the schedulers that run."""
    books: Sequence[Callable[[], None]] = ()
    """Writes down what a scheduler believes, for each of them (see `rest_judges`)."""
    is_controlled: bool = True
    """True if a claim controller runs."""
    tainted: frozenset[str] = frozenset()
    """Drivers whose devices are all tainted by a rule."""


def observed(document: Object, kind: type[T]) -> T:
    """Return an object in the type in which the checks observe it."""
    return msgspec.json.decode(msgspec.json.encode(document), type=kind)


def results(claim: Object) -> list[Object]:
    """Return the devices of a claim's allocation; none if it has no allocation."""
    allocation: Object = claim.get("status", {}).get("allocation") or {}
    return allocation.get("devices", {}).get("results") or []


def is_done(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_ending(pod: Object) -> bool:
    return is_done(pod) or "deletionTimestamp" in pod["metadata"]


def extended_claims(pod: Object) -> list[Object]:
    """Return what would be the claim for extended resources, if the pod asks for some."""
    requests = []
    for container in pod["spec"]["containers"]:
        limits = container.get("resources", {}).get("limits", {})
        for resource, count in limits.items():
            if resource.startswith(_EXTENDED):
                requests.append({"name": resource, "exactly": {"count": int(count)}})
    return [{"spec": {"devices": {"requests": requests}}}] if requests else []

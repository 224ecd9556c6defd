"""Judges the reservations of claims: how many there are, and that each bound pod has its own."""

from collections.abc import Iterator

import msgspec

from harness.apiserver.storage import watch_cache
from harness.model.objects import Object

FINALIZER = "resource.kubernetes.io/delete-protection"

EXTENDED = "-extended-resources-"
"""Part of the generated names of claims for extended resources."""


class AllocationFinalizers:
    """Watches claims, from the first commit of the run.

    The scheduler takes it from a claim for extended resources to delete it: such are exempt.
    """

    def __init__(self) -> None:
        self._exempt: set[str] = set()
        """Claims that another client has allocated without it before the run."""
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource.plural != "resourceclaims":
            return
        if commit.object.name in self._exempt or EXTENDED in commit.object.name:
            return
        claim = msgspec.json.decode(commit.object.data)
        is_allocated = claim.get("status", {}).get("allocation") is not None
        name, meta = claim["metadata"]["name"], claim["metadata"]
        if commit.type == "DELETED":
            is_lost = is_allocated and meta.get("finalizers") and "deletionTimestamp" not in meta
            told = f"finalizer: the API server removed {name}, which is allocated, in spite of it"
            self.finding = self.finding or (told if is_lost else None)
        elif is_allocated and FINALIZER not in meta.get("finalizers", ()):
            if commit.type == "ADDED":
                self._exempt.add(name)
                return
            self.finding = self.finding or f"finalizer: {name} is allocated without its finalizer"


RESERVATIONS_MAX = 256
"""Maximum number of entries in `status.reservedFor` of the API."""


class Reservations:
    """Watches claims and pods.

    No version of a claim has more reservations than allowed, and none loses that of a consumer that
    is no pod. As long as a pod is bound and not
    being deleted, each of its claims is allocated on the pod's node and reserved for it.
    """

    def __init__(self) -> None:
        self._claims: dict[str, Object] = {}
        self._pods: dict[str, Object] = {}
        """The pods that are bound and not being deleted."""
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource.plural == "resourceclaims":
            before = self._claims.get(commit.object.name, {})
            self._note(self._claims, commit, is_kept=True)
            self._judge_claim(commit.object.name, before)
        elif commit.resource.plural == "pods":
            self._note(self._pods, commit, is_kept=b'"nodeName"' in commit.object.data)
        else:
            return
        self.finding = self.finding or next(self._unreserved(), None)

    def _note(self, known: dict[str, Object], commit: watch_cache.Commit, *, is_kept: bool) -> None:
        known.pop(commit.object.name, None)
        if commit.type == "DELETED" or not is_kept:
            return
        document = msgspec.json.decode(commit.object.data)
        if commit.resource.plural == "resourceclaims" or not _is_ending(document):
            known[commit.object.name] = document

    def _judge_claim(self, name: str, before: Object) -> None:
        now = self._claims.get(name, before)
        count = len(_reserved(now))
        if count > RESERVATIONS_MAX:
            self.finding = f"reservations: {name} has {count}, more than {RESERVATIONS_MAX}"
        if lost := {*_foreign(before)} - {*_foreign(now)}:
            self.finding = f"reservations: {name} lost that of {', '.join(sorted(lost))}"

    def _unreserved(self) -> Iterator[str]:
        for pod in self._pods.values():
            for name in _claim_names(pod):
                if (fault := _fault(self._claims.get(name), pod)) is not None:
                    yield f"bound: {pod['metadata']['name']} is bound, but {name} is {fault}"


def _fault(claim: Object | None, pod: Object) -> str | None:
    """Return what a bound pod's claim lacks; None: nothing."""
    if claim is None:
        return "missing"
    if not claim.get("status", {}).get("allocation"):
        return "not allocated"
    if pod["metadata"]["uid"] not in _reserved(claim):
        return "not reserved for it"
    if not _is_usable_on(pod["spec"]["nodeName"], claim):
        return "allocated on another node"
    return None


def _is_usable_on(node: str, claim: Object) -> bool:
    """Return whether the node selector of the allocation, if it names nodes, names this one."""
    terms = (claim["status"]["allocation"].get("nodeSelector") or {}).get("nodeSelectorTerms", ())
    named = [field for term in terms for field in term.get("matchFields") or ()]
    return not named or any(node in field["values"] for field in named)


def _reserved(claim: Object) -> list[str]:
    return [entry["uid"] for entry in claim.get("status", {}).get("reservedFor") or ()]


def _foreign(claim: Object) -> Iterator[str]:
    for entry in claim.get("status", {}).get("reservedFor") or ():
        if entry["resource"] != "pods":
            yield entry["name"]


def _claim_names(pod: Object) -> Iterator[str]:
    statuses = pod.get("status", {}).get("resourceClaimStatuses") or ()
    generated = {status["name"]: status.get("resourceClaimName") for status in statuses}
    for entry in pod["spec"].get("resourceClaims") or ():
        name = entry.get("resourceClaimName") or generated.get(entry["name"])
        if name is not None:
            yield name


def _is_ending(pod: Object) -> bool:
    done = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return done or "deletionTimestamp" in pod["metadata"]

"""Judges claims: their reservations, finalizers and devices, one for each entry of a pod."""

import collections
from collections.abc import Iterable, Iterator

from harness.checks.holds import live_spotter
from harness.explore.worlds import world_fixtures
from harness.explore.worlds.oracles import states
from harness.model.objects import Object

EXTENDED = "-extended-resources-"
"""Part of the generated names of claims for extended resources."""
RESERVATIONS_MAX = 256
"""Maximum number of entries in `status.reservedFor` of the API."""


class AllocationFinalizers(states.Oracle):
    """Watches claims, from the first commit of the run.

    The scheduler takes it from a claim for extended resources to delete it: such are exempt.
    """

    def __init__(self) -> None:
        self._exempt: set[str] = set()
        """Claims that another client has allocated without it before the run."""

    def on_seen(self, seen: states.Seen) -> None:
        name, meta = seen.name, seen.object["metadata"]
        if not seen.is_claim or name in self._exempt or EXTENDED in name:
            return
        is_allocated = seen.object.get("status", {}).get("allocation") is not None
        if seen.is_gone:
            is_lost = is_allocated and meta.get("finalizers") and "deletionTimestamp" not in meta
            told = f"finalizer: the API server removed {name}, which is allocated, in spite of it"
            self.find(told if is_lost else None)
        elif is_allocated and world_fixtures.FINALIZER not in meta.get("finalizers", ()):
            if seen.before is None:
                self._exempt.add(name)
            else:
                self.find(f"finalizer: {name} is allocated without its finalizer")


class Reservations(states.Oracle):
    """Watches claims and pods.

    No version of a claim has more reservations than allowed, and none loses that of a consumer that
    is no pod. As long as a pod is bound and not being deleted, each of its claims is allocated on
    the pod's node and reserved for it.
    """

    def on_seen(self, seen: states.Seen) -> None:
        if seen.is_claim and not seen.is_gone:
            self._judge_claim(seen.name, seen.before or {}, seen.object)
        if seen.plural != "resourceslices":
            self.find(next(_unreserved(seen.known), None))

    def _judge_claim(self, name: str, before: Object, now: Object) -> None:
        count = len(_reserved(now))
        if count > RESERVATIONS_MAX:
            self.finding = f"reservations: {name} has {count}, more than {RESERVATIONS_MAX}"
        if lost := {*_foreign(before)} - {*_foreign(now)}:
            self.finding = f"reservations: {name} lost that of {', '.join(sorted(lost))}"


def _unreserved(known: states.Known) -> Iterator[str]:
    for pod in known.pods.values():
        for name in (
            _claim_names(pod) if "nodeName" in pod["spec"] and not states.is_ending(pod) else ()
        ):
            if (fault := _fault(known.claims.get(name), pod)) is not None:
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


class ClaimEntries(states.Oracle):
    """Watches for a second claim of the same entry of a pod; one that is being deleted is none."""

    def on_seen(self, seen: states.Seen) -> None:
        if seen.is_claim:
            self.find(next(_doubled(seen.known.claims.values()), None))


def _doubled(claims: Iterable[Object]) -> Iterator[str]:
    names = collections.defaultdict(list)
    for claim in claims:
        meta = claim["metadata"]
        entry = meta.get("annotations", {}).get(states.ENTRY)
        if entry is not None and "deletionTimestamp" not in meta:
            for owner in meta.get("ownerReferences", ()):
                if owner.get("controller"):
                    names[owner["uid"], entry].append(meta["name"])
    for (_, entry_name), listed in names.items():
        if len(listed) > 1:
            yield f"entry: {entry_name} of one pod has the claims {' and '.join(sorted(listed))}"


class DeviceExclusivity(states.Oracle):
    """Watches claims for a double allocation."""

    def __init__(self) -> None:
        self._spotter = live_spotter.Spotter()

    def on_seen(self, seen: states.Seen) -> None:
        if seen.is_claim:
            self._spotter.note(seen.name, None if seen.is_gone else seen.object)
        if self._spotter.found is not None:
            device, first, second = self._spotter.found
            self.find(f"device {device} is allocated to {first} and to {second}")

"""Was everything observed that pods and claims name?

A pod names its claims, a generated claim names the pod that owns it. If all records of one of them
are missing, the other one still names it. The two resources have a watch each, so that the named
object may be observed later; a name is settled as soon as its object is there.

Names of objects that exist are settled at once; of those that have gone, eight bytes are kept.
"""

import array
from collections.abc import Iterator, Mapping

import numpy as np

from harness.checks.evidence import contradictions, observed_versions
from harness.checks.observed import folders, observations, observed_pods

NAMED = "references"
"""The item of the certificate that this module answers."""


class NamedObjects:
    """The objects of one resource that others name, by name or uid."""

    def __init__(self) -> None:
        self._existing: set[int] = set()
        self._gone = array.array("q")
        self._waiting: dict[int, tuple[str, str]] = {}
        """Digest of a name -> the object that names it, and the name; not yet observed."""
        self.count = 0
        """Number of names that were settled or wait."""

    def see(self, name: int, *, deleted: bool) -> None:
        if name not in self._existing:
            self._waiting.pop(name, None)
            if not deleted:
                self._existing.add(name)
        elif deleted:
            self._existing.remove(name)
            self._gone.append(name)

    def require(self, name: int, by: observations.SeenAny, named: str) -> None:
        """Note that an object names another one; `named` says which as text."""
        self.count += 1
        if name not in self._existing:
            self._waiting.setdefault(name, (contradictions.title(by), named))

    def missing(self) -> Mapping[int, tuple[str, str]]:
        gone = observed_versions.as_integers(self._gone)
        names = np.fromiter(self._waiting, dtype=np.int64, count=len(self._waiting))
        lost = names[~np.isin(names, gone)]
        return {int(name): self._waiting[int(name)] for name in lost}


class References:
    """The claims that pods name and the pods that own claims."""

    def __init__(self, found: contradictions.Contradictions) -> None:
        self._found = found
        self._claims, self._pods = NamedObjects(), NamedObjects()

    @property
    def count(self) -> int:
        """Number of times that an observed object named another one."""
        return self._claims.count + self._pods.count

    def see(self, seen: observations.SeenAny) -> None:
        """Note an object that came or went; in a list before the final one, too."""
        meta = seen.object.metadata
        if seen.resource == observations.CLAIMS:
            self._claims.see(hash((meta.namespace, meta.name)), deleted=seen.is_gone)
        elif seen.resource == observations.PODS:
            self._pods.see(hash(meta.uid), deleted=seen.is_gone)

    def require_pods(self, batch: folders.Batch) -> None:
        for seen in batch.seen:
            for owner in seen.object.metadata.owner_references or ():
                if owner.kind == "Pod":
                    self._pods.require(hash(owner.uid), seen, f"the pod with uid {owner.uid}")

    def require_claims(self, batch: folders.Batch) -> None:
        for seen in batch.seen:
            for claim in _claims_of(seen.object):
                name = hash((seen.object.metadata.namespace, claim))
                self._claims.require(name, seen, f"claim {claim}")

    def end(self) -> None:
        """Count what was never observed. It is missing, but what was observed is not in doubt."""
        for names in (self._claims, self._pods):
            for by, named in names.missing().values():
                text = f"{by} names {named}, which was never observed"
                self._found.add(NAMED, text, doubts_holds=False)


def _claims_of(pod: observed_pods.Pod) -> Iterator[str]:
    """Yield the names of the claims whose existence the pod proves.

    The claim controller names a claim in the status after creating it. The spec may name one that
    never existed, unless the pod's containers run.
    """
    status = pod.status
    made = [item.resource_claim_name for item in status.resource_claim_statuses or ()]
    if status.extended_resource_claim_status is not None:
        made.append(status.extended_resource_claim_status.resource_claim_name)
    if status.phase == "Running":
        made += [item.resource_claim_name for item in pod.spec.resource_claims or ()]
    yield from filter(None, made)

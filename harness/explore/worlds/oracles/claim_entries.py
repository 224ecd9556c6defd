"""Judges the generated claims of pods: one for each entry that has a template."""

import collections
from collections.abc import Iterable, Iterator

import msgspec

from harness.apiserver.storage import watch_cache
from harness.model.objects import Object

ANNOTATION = "resource.kubernetes.io/pod-claim-name"


class ClaimEntries:
    """Watches for a second claim of the same entry of a pod; one that is being deleted is none."""

    def __init__(self) -> None:
        self._claims: dict[str, Object] = {}
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource.plural != "resourceclaims":
            return
        self._claims.pop(commit.object.name, None)
        if commit.type != "DELETED":
            self._claims[commit.object.name] = msgspec.json.decode(commit.object.data)
        self.finding = self.finding or next(_doubled(self._claims.values()), None)


def _doubled(claims: Iterable[Object]) -> Iterator[str]:
    names = collections.defaultdict(list)
    for entry, name in _entries(claims):
        names[entry].append(name)
    for (_, entry_name), listed in names.items():
        if len(listed) > 1:
            yield f"entry: {entry_name} of one pod has the claims {' and '.join(sorted(listed))}"


def _entries(claims: Iterable[Object]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the uid of the pod, the name of the entry, and the claim's name."""
    for claim in claims:
        meta = claim["metadata"]
        entry = meta.get("annotations", {}).get(ANNOTATION)
        if entry is None or "deletionTimestamp" in meta:
            continue
        for owner in meta.get("ownerReferences", ()):
            if owner.get("controller"):
                yield (owner["uid"], entry), meta["name"]

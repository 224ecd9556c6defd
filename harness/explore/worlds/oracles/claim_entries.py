"""Judges the generated claims of pods: one for each entry that has a template."""

import collections
from collections.abc import Iterable, Iterator

from harness.explore.worlds.oracles import states
from harness.model.objects import Object

ANNOTATION = "resource.kubernetes.io/pod-claim-name"


class ClaimEntries:
    """Watches for a second claim of the same entry of a pod; one that is being deleted is none."""

    def __init__(self) -> None:
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_seen(self, seen: states.Seen) -> None:
        if seen.is_claim:
            self.finding = self.finding or next(_doubled(seen.known.claims.values()), None)


def _doubled(claims: Iterable[Object]) -> Iterator[str]:
    names = collections.defaultdict(list)
    for claim in claims:
        meta = claim["metadata"]
        entry = meta.get("annotations", {}).get(ANNOTATION)
        if entry is not None and "deletionTimestamp" not in meta:
            for owner in meta.get("ownerReferences", ()):
                if owner.get("controller"):
                    names[owner["uid"], entry].append(meta["name"])
    for (_, entry_name), listed in names.items():
        if len(listed) > 1:
            yield f"entry: {entry_name} of one pod has the claims {' and '.join(sorted(listed))}"

"""Judges whether every allocated claim has the finalizer that protects its allocation.

And whether the API server keeps it as long as it has one.
"""

from collections.abc import Collection

import msgspec

from harness.apiserver.storage import watch_cache

FINALIZER = "resource.kubernetes.io/delete-protection"

EXTENDED = "-extended-resources-"
"""Part of the generated names of claims for extended resources."""


class AllocationFinalizers:
    """Watches claims, from the first commit of the run."""

    def __init__(self, exempt: Collection[str] = ()) -> None:
        """`exempt`: claims that another client has allocated without it.

        The scheduler takes it from a claim for extended resources to delete it: such are exempt.
        """
        self._exempt = exempt
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        """Judge a commit."""
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
        elif is_allocated and FINALIZER not in claim["metadata"].get("finalizers", ()):
            self.finding = self.finding or f"finalizer: {name} is allocated without its finalizer"

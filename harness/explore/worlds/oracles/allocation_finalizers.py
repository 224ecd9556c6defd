"""Judges whether every allocated claim has the finalizer that protects its allocation."""

import msgspec

from harness.apiserver.storage import watch_cache

FINALIZER = "resource.kubernetes.io/delete-protection"


class AllocationFinalizers:
    """Watches claims, from the first commit of the run."""

    def __init__(self) -> None:
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        """Judge a commit."""
        if commit.resource.plural != "resourceclaims" or commit.type == "DELETED":
            return
        claim = msgspec.json.decode(commit.object.data)
        is_allocated = claim.get("status", {}).get("allocation") is not None
        if is_allocated and FINALIZER not in claim["metadata"].get("finalizers", ()):
            name = claim["metadata"]["name"]
            self.finding = self.finding or f"finalizer: {name} is allocated without its finalizer"

"""Is each claim deleted with the allocation that it had last, and has it what its managers own?

The event of a deletion has the object in its last state. A deletion itself never changes the
status: what ends an allocation is a write of its own, before the deletion. An event with another
allocation than the one before it proves that one of them was changed, or that one between them is
lost.
The API server removes a field from `managedFields` in the write that removes the field itself: a
claim whose `status.allocation` has a manager has an allocation.
"""

from harness.checks.evidence import contradictions, observed_objects
from harness.checks.observed import observations, observed_claims

_MANAGED = b"f:allocation"
"""The field that a manager owns; in a JSON string without a backslash, it is written so."""


class LastAllocations:
    """The newest allocation of each living claim."""

    def __init__(self, name: str, found: contradictions.Contradictions) -> None:
        """`name` is the certificate's item that asks."""
        self._name, self._found = name, found
        self._newest: dict[str, observed_claims.Allocation | None] = {}
        """Keyed by uid."""

    def observe(self, seen: observations.SeenClaim) -> None:
        """Follow an event or an object of a list."""
        uid, allocation = seen.object.metadata.uid, seen.object.status.allocation
        if allocation is None and _may_be_managed(seen.line) and seen.object.manager:
            text = f"has no allocation, but {seen.object.manager} manages the fields of one"
            self._complain(seen, text)
        if seen.type != "DELETED":
            self._newest[uid] = allocation
        elif self._newest.pop(uid, allocation) != allocation:
            self._complain(seen, "was deleted with another allocation than it had before")

    def _complain(self, seen: observations.SeenClaim, text: str) -> None:
        """Count a contradiction, and doubt the whole life of the claim."""
        self._found.add(
            self._name,
            f"{observed_objects.title(seen)} at {seen.version}: {text}",
            resource=seen.resource,
            uid=seen.object.metadata.uid,
            from_rv=0,
        )


def _may_be_managed(line: bytes) -> bool:
    """Return False if the allocation of a claim certainly has no manager; looks at bytes only."""
    return _MANAGED in line or b"\\" in line or not line

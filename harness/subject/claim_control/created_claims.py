"""Generated claims that the controller knows, from the informer and from its own creations.

Corresponds to the controller's use of client-go's tools/cache/mutation_cache.go. When a sync
created a claim but failed to record it, the retry must find that claim instead of creating a second
one, even if the watch lags behind.
"""

import collections
from typing import Any

from harness import concurrency
from harness.client import informers
from harness.subject import claims

Object = dict[str, Any]


class CreatedClaims:
    """Claims by key and by owner; an event handler of the claim informer."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("created-claims")
        self._claims: dict[str, Object] = {}
        self._owned: dict[str, set[str]] = collections.defaultdict(set)

    def add(self, claim: Object) -> None:
        """Add a claim that the controller has created, unless the informer has delivered it."""
        with self._guard:
            self._claims.setdefault(informers.key_of(claim), claim)
            self._index(claim)

    def get(self, key: str) -> Object | None:
        """Return the newest known state of a claim, or None if it is unknown."""
        with self._guard:
            return self._claims.get(key)

    def owned_by(self, uid: str) -> list[Object]:
        """Return the claims controlled by the pod with this UID, sorted by key."""
        with self._guard:
            return [self._claims[key] for key in sorted(self._owned.get(uid, ()))]

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Store a claim that the informer has added."""
        del initial
        self._put(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """Store a new version from the informer."""
        del old
        self._put(new)

    def on_delete(self, last: Object) -> None:
        """Remove a deleted claim."""
        with self._guard:
            key = informers.key_of(last)
            self._claims.pop(key, None)
            owner = claims.controller_uid(last)
            if owner is not None:
                self._owned[owner].discard(key)
                if not self._owned[owner]:
                    del self._owned[owner]

    def _put(self, claim: Object) -> None:
        with self._guard:
            self._claims[informers.key_of(claim)] = claim
            self._index(claim)

    def _index(self, claim: Object) -> None:
        owner = claims.controller_uid(claim)
        if owner is not None:
            self._owned[owner].add(informers.key_of(claim))

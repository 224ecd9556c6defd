"""What the controller knows of generated claims: those of the informer, and those it created that the informer has not seen yet.

The controller's mutation cache: a sync that is tried again after "created, but not recorded" must find the claim of the first
try, also when the watch is behind, and not create a second one.
"""

import collections
from typing import Any

from harness import concurrency
from harness.client import informers
from harness.subject import claims

Object = dict[str, Any]


class CreatedClaims:
    """Claims by key and by owner; a handler of the claim informer."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("created-claims")
        self._claims: dict[str, Object] = {}
        self._owned: dict[str, set[str]] = collections.defaultdict(set)

    def add(self, claim: Object) -> None:
        """The controller itself has created it; what the informer said of it meanwhile stays."""
        with self._guard:
            self._claims.setdefault(informers.key_of(claim), claim)
            self._index(claim)

    def get(self, key: str) -> Object | None:
        """The newest known state."""
        with self._guard:
            return self._claims.get(key)

    def owned_by(self, uid: str) -> list[Object]:
        """The claims that this pod controls, oldest name first."""
        with self._guard:
            return [self._claims[key] for key in sorted(self._owned.get(uid, ()))]

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """The informer has seen it."""
        del initial
        self._put(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """The informer has a new version."""
        del old
        self._put(new)

    def on_delete(self, last: Object) -> None:
        """It is gone."""
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

"""Generated claims that the controller knows, from the informer and from its own creations.

Corresponds to the controller's use of client-go's tools/cache/mutation_cache.go. When a sync
created a claim but failed to record it, the retry must find that claim instead of creating a second
one, even if the watch lags behind.

A created claim is remembered until the informer has passed its resource version, however many there
are: from then on the informer knows better, also that the claim was deleted. The events of a list
come in any order, so that the informer has passed their versions only when all have come. Upstream
remembers 100 claims for up to an hour (see `releases`).
"""

import collections
import heapq

from harness import concurrency
from harness.client import informers, passed_versions
from harness.model.objects import Object
from harness.subject.objects import claims


class CreatedClaims(informers.EventHandler):
    """Claims by key and by owner; an event handler of the claim informer."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("created-claims")
        self._claims: dict[str, Object] = {}
        """The claims that the informer has delivered."""
        self._pending: dict[str, Object] = {}
        """Created claims that the informer has not delivered yet."""
        self._order: list[tuple[int, str]] = []
        """A heap of their resource versions and keys."""
        self._passed = passed_versions.PassedVersion()
        self._owned: dict[str, set[str]] = collections.defaultdict(set)
        """The keys of the claims controlled by a pod or PodGroup, by its UID."""

    def add(self, claim: Object) -> None:
        with self._guard:
            key = informers.key_of(claim)
            if not self._passed.covers(claim) and key not in self._claims:
                self._pending[key] = claim
                heapq.heappush(self._order, (passed_versions.version_of(claim), key))
                self._index(claim)

    def get(self, key: str) -> Object | None:
        """Return the newest known state of a claim, or None if it is unknown."""
        with self._guard:
            return self._pending.get(key) or self._claims.get(key)

    def owned_by(self, uid: str) -> list[Object]:
        """Return the claims controlled by the pod or PodGroup with this UID, sorted by key."""
        with self._guard:
            keys = sorted(self._owned.get(uid, ()))
            return [self._pending.get(key) or self._claims[key] for key in keys]

    def on_list_begin(self) -> None:
        with self._guard:
            self._passed.begin_list()

    def on_list_end(self, version: str) -> None:
        with self._guard:
            self._passed.end_list(version)
            self._forget_passed()

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        with self._guard:
            self._store(obj)

    def on_update(self, old: Object, new: Object) -> None:
        with self._guard:
            self._remove_from_index(old)
            self._store(new)

    def on_delete(self, last: Object) -> None:
        with self._guard:
            self._advance(last)
            self._pending.pop(informers.key_of(last), None)
            known = self._claims.pop(informers.key_of(last), last)
            self._remove_from_index(known)

    def _store(self, delivered: Object) -> None:
        key = informers.key_of(delivered)
        self._advance(delivered)
        self._pending.pop(key, None)
        self._claims[key] = delivered
        self._index(delivered)

    def _advance(self, delivered: Object) -> None:
        """Note that the informer has passed the version of a delivered claim, but for a list."""
        self._passed.deliver(delivered)
        self._forget_passed()

    def _forget_passed(self) -> None:
        """Forget the created claims that are not newer than what the informer has passed."""
        while self._order and self._order[0][0] <= self._passed.version:
            _, key = heapq.heappop(self._order)
            claim = self._pending.pop(key, None)
            if claim is not None and key not in self._claims:
                self._remove_from_index(claim)

    def _index(self, claim: Object) -> None:
        if uid := claims.controller_uid(claim):
            self._owned[uid].add(informers.key_of(claim))

    def _remove_from_index(self, claim: Object) -> None:
        if uid := claims.controller_uid(claim):
            self._owned[uid].discard(informers.key_of(claim))
            if not self._owned[uid]:
                del self._owned[uid]

"""A store in which a claim has few reservations, so that a small world can reach their limit."""

import random
from collections.abc import Callable
from typing import Any

from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache
from harness.explore.worlds import world_fixtures
from harness.model.objects import Object


def new(past: watch_cache.Past, *, reservations_max: int) -> "LimitedStore":
    """Return a store of a world with this limit of reservations."""
    store = LimitedStore(
        now=lambda: world_fixtures.NOW,
        stream=random.Random(2),
        past=past,
        track_managers=False,
    )
    store.reservations_max = reservations_max
    return store


class LimitedStore(stores.Store):
    """Refuses a claim with too many reservations, as the API server does beyond 256."""

    reservations_max = 0

    def update(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        document: Object,
        **options: Any,
    ) -> stored_objects.Stored:
        """Replace an object. Raises StatusError 422 beyond the limit."""
        self._require_few(resource, document)
        return super().update(resource, namespace, name, document, **options)

    def patch(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        change: Callable[[Object], Object],
        **options: Any,
    ) -> stored_objects.Stored:
        """Change an object. Raises StatusError 422 beyond the limit."""

        def checked(document: Object) -> Object:
            changed = change(document)
            self._require_few(resource, changed)
            return changed

        return super().patch(resource, namespace, name, checked, **options)

    def _require_few(self, resource: resources.ResourceType, document: Object) -> None:
        count = len(document.get("status", {}).get("reservedFor") or ())
        if resource is resources.CLAIMS and count > self.reservations_max:
            cause = field_errors.too_many("status.reservedFor", count, self.reservations_max)
            raise status_errors.invalid(resource, document["metadata"]["name"], [cause])

"""The start and the end of a scheduler's leadership, at which the correct code does nothing more.

After OnStartedLeading and OnStoppedLeading of k8s.io/client-go/tools/leaderelection, as
cmd/kube-scheduler/app/server.go uses them: the first starts the scheduling, the second ends the
process. A scheduler that takes over trusts its first list. A write that its predecessor left under
way can be committed after that list (hypothesis H3); a remedy replaces this part.
"""

from collections.abc import Callable

from harness.client import apis
from harness.subject.tracking import assume_caches


class Leadership:
    """The time during which one scheduler leads."""

    accepts_cached_lists = True
    """True if the first lists may come from a watch cache that lags, if the scheduler's options
    ask for such lists."""

    def __init__(
        self, api: apis.Api, cache: assume_caches.AssumeCache, *, namespace: str | None = None
    ) -> None:
        """`namespace`: that of the claims in the cache; None: all namespaces."""
        self._api, self._cache, self._namespace = api, cache, namespace
        self._holds_lease: Callable[[], bool] | None = None

    def use_lease(self, holds_lease: Callable[[], bool]) -> None:
        """Use leader election; `holds_lease` returns whether the lease is certainly still held."""
        self._holds_lease = holds_lease

    def still_leads(self) -> bool:
        """Return whether no other scheduler can lead now; True without leader election."""
        return self._holds_lease is None or self._holds_lease()

    @property
    def writing_api(self) -> apis.Api:
        """The API through which the scheduler writes."""
        return self._api

    def on_started_leading(self) -> None:
        """Prepare for the first pod; called once the informers have delivered their first lists.

        Raises ClusterError if the API server does not answer.
        """

    def on_stopped_leading(self) -> None:
        """Take note that this scheduler no longer leads; what it has begun goes on."""

"""Informers of collections that not every API server has, and not in every version."""

from collections.abc import Iterable, Sequence

from harness import concurrency, errors
from harness.client import apis, informers, transports
from harness.model.objects import Object

RETRY_S = 0.2
"""Wait between two tries to ask what is served, in seconds."""


class ServedInformer:
    """Follows a collection if it is served."""

    def __init__(
        self,
        api: apis.Api,
        versions: Sequence[apis.Resource],
        handlers: Iterable[informers.EventHandler],
        *,
        namespace: str | None = None,
        lists_cached: bool = False,
    ) -> None:
        """`versions`: the newest first. The others are as of `informers.Informer`."""
        self._api, self._versions, self._handlers = api, versions, tuple(handlers)
        self._namespace, self._lists_cached = namespace, lists_cached
        self._informer: informers.Informer | None = None

    def start(self, *, timeout_s: float) -> None:
        """Follow the collection if it is served, and wait until its first list was delivered.

        Raises KubeconfigError and ClusterError as `informers.Informer.wait_synced` does.
        """
        resource = self.served(timeout_s=timeout_s)
        if resource is None:
            return
        self._informer = informers.Informer(
            self._api,
            resource,
            name=f"informer-{resource.plural}",
            handlers=self._handlers,
            namespace=self._namespace if resource.namespaced else None,
            lists_cached=self._lists_cached,
        )
        self._informer.start()
        self._informer.wait_synced(timeout_s=timeout_s)

    @property
    def is_started(self) -> bool:
        return self._informer is not None

    def get(self, key: str) -> Object | None:
        return self._informer.get(key) if self._informer else None

    def objects(self) -> list[Object]:
        return self._informer.objects() if self._informer else []

    def stop(self) -> None:
        if self._informer is not None:
            self._informer.stop()

    def served(self, *, timeout_s: float) -> apis.Resource | None:
        """Return the first of the versions that the API server serves. Raises ClusterError."""
        deadline_s = concurrency.monotonic_s() + timeout_s
        while True:
            try:
                serves = self._api.served
                return next((it for it in self._versions if it.plural in serves(it)), None)
            except (transports.TransportError, apis.ApiError) as error:
                if concurrency.monotonic_s() > deadline_s:
                    raise errors.ClusterError(
                        f"expected an answer within {timeout_s:g} s to what the API server serves of"
                        f" {self._versions[0].group}, got none ({error}). Is the API server up?"
                    ) from error
            concurrency.sleep(RETRY_S)

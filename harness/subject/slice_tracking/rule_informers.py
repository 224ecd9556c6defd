"""The informer of DeviceTaintRules, which not every API server serves.

Version v1beta2 is Kubernetes 1.36's, v1alpha3 that of releases before. Both are off unless the
version and, on a real cluster, the gate DRADeviceTaintRules are enabled.
"""

from collections.abc import Iterable

from harness import concurrency, errors
from harness.client import apis, informers, transports
from harness.model.objects import Object

VERSIONS = (apis.TAINT_RULES, apis.OLD_TAINT_RULES)
"""The resources of the rules, the newest version first."""
RETRY_S = 0.2
"""Wait between two tries to ask what is served, in seconds."""


def served(api: apis.Api) -> apis.Resource | None:
    """Return the newest version of the rules that the API server serves; None: it serves none.

    Raises ApiError or TransportError if the API server does not answer.
    """
    for resource in VERSIONS:
        if resource.plural in api.served(resource):
            return resource
    return None


class RuleInformer:
    """Follows the rules if they are served."""

    def __init__(
        self,
        api: apis.Api,
        handlers: Iterable[informers.EventHandler],
        *,
        lists_cached: bool = False,
    ) -> None:
        """`lists_cached`: as of `informers.Informer`."""
        self._api, self._handlers, self._lists_cached = api, tuple(handlers), lists_cached
        self._informer: informers.Informer | None = None

    def start(self, *, timeout_s: float) -> None:
        """Follow the rules if they are served, and wait until their first list was delivered.

        Raises KubeconfigError and ClusterError as `informers.Informer.wait_synced` does.
        """
        resource = self._ask(timeout_s)
        if resource is None:
            return
        self._informer = informers.Informer(
            self._api,
            resource,
            name=f"informer-{resource.plural}",
            handlers=self._handlers,
            lists_cached=self._lists_cached,
        )
        self._informer.start()
        self._informer.wait_synced(timeout_s=timeout_s)

    def objects(self) -> list[Object]:
        """Return the known rules."""
        return self._informer.objects() if self._informer else []

    def stop(self) -> None:
        """End what was started."""
        if self._informer is not None:
            self._informer.stop()

    def _ask(self, timeout_s: float) -> apis.Resource | None:
        deadline_s = concurrency.monotonic_s() + timeout_s
        while True:
            try:
                return served(self._api)
            except (transports.TransportError, apis.ApiError) as error:
                if concurrency.monotonic_s() > deadline_s:
                    raise errors.ClusterError(
                        f"expected an answer within {timeout_s:g} s to what the API server serves of"
                        f" resource.k8s.io, got none ({error}). Is the API server up?"
                    ) from error
            concurrency.sleep(RETRY_S)

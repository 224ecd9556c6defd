"""The features that rules require and that not every server has, detected by requests."""

from harness import clocks, errors
from harness.client import transports
from harness.conformance.api import api_requests

COLLECTED_S = 30.0
"""Time after which a server that has not deleted an orphan has no garbage collector."""
_UNKNOWN_UID = "00000000-0000-4000-8000-000000000000"
_OK = 200


class Requirements:
    """The features of one server; each is detected when the first rule requires it."""

    def __init__(self, transport: transports.Transport, namespace: str) -> None:
        self._transport = transport
        self._configmaps = f"/api/v1/namespaces/{namespace}/configmaps"
        self._known: dict[str, bool] = {"": True}
        self._probes = {
            "resource.k8s.io": self._serves_dra,
            "garbage-collector": self._collects_garbage,
            "forgotten-past": self._forgets,
        }

    def are_met(self, need: str) -> bool:
        """Return True if the server has the feature: one of `rulebooks.NEEDS`, "" for none."""
        if need not in self._known:
            self._known[need] = self._probes[need]()
        return self._known[need]

    def _serves_dra(self) -> bool:
        return api_requests.send(self._transport, "GET", "/apis/resource.k8s.io/v1").status == _OK

    def _collects_garbage(self) -> bool:
        """Return True if an object is deleted whose owner does not exist."""
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": _UNKNOWN_UID}
        meta = {"name": "orphan", "ownerReferences": [owner]}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        api_requests.send(self._transport, "POST", self._configmaps, document)
        try:
            clocks.wait_until(
                self._is_collected, timeout_s=COLLECTED_S, why="the garbage to be collected"
            )
        except errors.WaitTimeoutError:
            return False
        return True

    def _is_collected(self) -> bool:
        path = f"{self._configmaps}/orphan"
        return api_requests.send(self._transport, "GET", path).status != _OK

    def _forgets(self) -> bool:
        """Return True if resource version 1 is too old for a watch."""
        path = f"{self._configmaps}?watch=true&resourceVersion=1&timeoutSeconds=1"
        watch = self._transport.watch(transports.Request(method="GET", path=path))
        return any(b'"type":"ERROR"' in line for line in list(watch))

"""What rules can need and not every server has; each is found out by asking, when the first rule needs it."""

from harness import clocks, errors
from harness.client import transports
from harness.conformance import requesting

COLLECTED_S = 30.0
"""A garbage collector that has done nothing for so long is none."""
_NOBODY = "00000000-0000-4000-8000-000000000000"
_OK = 200


class Needs:
    """What one server has."""

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
        """Whether the server has it."""
        if need not in self._known:
            self._known[need] = self._probes[need]()
        return self._known[need]

    def _serves_dra(self) -> bool:
        return requesting.send(self._transport, "GET", "/apis/resource.k8s.io/v1").status == _OK

    def _collects_garbage(self) -> bool:
        """Whether somebody deletes what depends on an owner that is not there."""
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": _NOBODY}
        meta = {"name": "orphan", "ownerReferences": [owner]}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        requesting.send(self._transport, "POST", self._configmaps, document)
        try:
            clocks.wait_until(
                self._is_collected, timeout_s=COLLECTED_S, why="the garbage to be collected"
            )
        except errors.WaitTimeoutError:
            return False
        return True

    def _is_collected(self) -> bool:
        path = f"{self._configmaps}/orphan"
        return requesting.send(self._transport, "GET", path).status != _OK

    def _forgets(self) -> bool:
        """Whether the first version of all is too old to watch from."""
        path = f"{self._configmaps}?watch=true&resourceVersion=1&timeoutSeconds=1"
        watch = self._transport.watch(transports.Request(method="GET", path=path))
        return any(b'"type":"ERROR"' in line for line in list(watch))

"""Objects of the API server that a test of a driver needs: a node, claims, their allocations."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness import errors
from harness.client import transports

_DRA = "/apis/resource.k8s.io/v1"
_NODES = "/api/v1/nodes"
_NAMESPACES = "/api/v1/namespaces"
_MERGE = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_COMPACT = (",", ":")
"""Opaque parameters are stored, and counted, as they were sent."""
_NO_FINALIZERS = [{"op": "remove", "path": "/metadata/finalizers"}]
_FORCED = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
_OK = range(200, 300)
_NOT_FOUND, _CONFLICT, _INVALID = 404, 409, 422
Object = dict[str, Any]


class ClusterObjects:
    """The objects of one API server; calls raise ClusterError for an answer they do not expect."""

    def __init__(self, transport: transports.Transport, *, timeout_s: float) -> None:
        self._transport, self._timeout_s = transport, timeout_s

    def send(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        allow: Sequence[int] = (),
        content_type: str = "application/json",
    ) -> Object:
        """Send a request and return the answer's document. Raises ClusterError."""
        body = None if document is None else json.dumps(document, separators=_COMPACT).encode()
        request = transports.Request(
            method=method,
            path=path,
            body=body,
            content_type=content_type,
            timeout_s=self._timeout_s,
        )
        response = self._transport.send(request)
        if response.status not in _OK and response.status not in allow:
            raise errors.ClusterError(
                f"expected {method} {path} to succeed, got {response.status}: "
                f"{response.body[:300].decode(errors='replace')}"
            )
        found: Object = json.loads(response.body or b"{}")
        return found

    def make_namespace(self, name: str) -> None:
        """Make a namespace, in which admin access to devices is allowed."""
        labels = {"resource.kubernetes.io/admin-access": "true"}
        meta = {"name": name, "labels": labels}
        self.send(
            "POST",
            _NAMESPACES,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": meta},
            allow=[_CONFLICT],
        )

    def remove_namespace(self, name: str) -> None:
        self.send("DELETE", f"{_NAMESPACES}/{name}", allow=[_NOT_FOUND])

    def make_node(self, name: str, *, boot_id: str) -> None:
        meta = {
            "name": name,
            "labels": {"kubernetes.io/hostname": name},
            "annotations": {"kwok.x-k8s.io/node": "fake"},  # for the project's kubelet
        }
        document = {"apiVersion": "v1", "kind": "Node", "metadata": meta}
        self.send("POST", _NODES, document, allow=[_CONFLICT])
        self.set_boot_id(name, boot_id)

    def set_boot_id(self, node: str, boot_id: str) -> None:
        """Let the node have another boot id, as after a reboot."""
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"nodeInfo": {"bootID": boot_id}, "conditions": [ready]}
        self._patch(f"{_NODES}/{node}/status", {"status": status})

    def slices(self) -> list[Object]:
        """Return all ResourceSlices."""
        found: list[Object] = self.send("GET", f"{_DRA}/resourceslices").get("items") or []
        return found

    def remove_slices(self, driver: str = "") -> None:
        """Delete all slices of a driver, as a kubelet does; without a name those of all drivers."""
        for item in self.slices():
            if driver in ("", item["spec"]["driver"]):
                name = item["metadata"]["name"]
                self.send("DELETE", f"{_DRA}/resourceslices/{name}", allow=[_NOT_FOUND])

    def node(self, name: str) -> Object:
        return self.send("GET", f"{_NODES}/{name}")

    def classes(self) -> dict[str, Object]:
        """Return name -> DeviceClass."""
        items = self.send("GET", f"{_DRA}/deviceclasses").get("items") or []
        return {item["metadata"]["name"]: item for item in items}

    def class_of(self, driver: str) -> str:
        """Return the name of a DeviceClass of the driver's devices; make one if there is none."""
        for name, item in self.classes().items():
            if f'"{driver}"' in json.dumps(item["spec"]).replace("\\", "").replace("'", '"'):
                return name
        selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
        document = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": driver},
            "spec": {"selectors": [selector]},
        }
        self.send("POST", f"{_DRA}/deviceclasses", document, allow=[_CONFLICT])
        return driver

    def make_claim(self, namespace: str, name: str, spec: Object) -> Object:
        document = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": spec,
        }
        return self.send("POST", _claims(namespace), document)

    def claim(self, namespace: str, name: str) -> Object | None:
        found = self.send("GET", f"{_claims(namespace)}/{name}", allow=[_NOT_FOUND])
        return found if found.get("kind") == "ResourceClaim" else None

    def set_status(self, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        """Change the status of a claim."""
        self._patch(f"{_claims(namespace)}/{name}/status", {"status": status})

    def remove_claim(self, namespace: str, name: str) -> None:
        """Delete a claim by force: without its finalizers and at once."""
        path = f"{_claims(namespace)}/{name}"
        self.delete_now(path)
        gone = [_NOT_FOUND, _INVALID]  # or without finalizers; a merge patch re-writes parameters
        self.send("PATCH", path, _NO_FINALIZERS, allow=gone, content_type=_JSON_PATCH)

    def delete_now(self, path: str) -> None:
        """Delete an object with a grace period of 0."""
        self.send("DELETE", path, _FORCED, allow=[_NOT_FOUND])

    def _patch(self, path: str, document: object) -> None:
        self.send("PATCH", path, document, allow=[_NOT_FOUND], content_type=_MERGE)


def _claims(namespace: str) -> str:
    return f"{_DRA}/namespaces/{namespace}/resourceclaims"


class HeldReads:
    """Reads of claims by the driver, whose answers the API server holds back while it is asked to.

    Only the embedded API server can do it.
    """

    _FAULTS = "/flake-hunt/v1/faults"
    _NAME = "driver-test-held-read"

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects

    def hold(self, namespace: str, name: str) -> None:
        """From now on hold the answers to reads of a claim."""
        match = {
            "verbs": ["get"],
            "resource": "resourceclaims",
            "namespace": namespace,
            "name": name,
        }
        fault = {
            "name": self._NAME,
            "point": "response",
            "action": {"type": "block"},
            "match": match,
        }
        self._objects.send("POST", self._FAULTS, fault)

    def count(self) -> int:
        """Return how many answers are held now."""
        return int(self._objects.send("GET", f"{self._FAULTS}/{self._NAME}")["heldCount"])

    def release(self) -> None:
        """Let all answers go, and hold none any longer."""
        self._objects.send("DELETE", f"{self._FAULTS}/{self._NAME}", allow=[_NOT_FOUND])

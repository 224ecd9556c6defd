"""Objects of the API server that a test of a driver needs: a node, claims, their allocations."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness import errors
from harness.client import apis, transports

_NO_FINALIZERS = [{"op": "remove", "path": "/metadata/finalizers"}]
_FAULTS = "/flake-hunt/v1/faults"
_HELD_READ = "driver-test-held-read"
Object = dict[str, Any]


class ClusterObjects:
    """The objects of one API server; calls raise HarnessError for an answer they do not expect."""

    def __init__(self, transport: transports.Transport) -> None:
        self.api = apis.Api(transport)

    def make_namespace(self, name: str) -> None:
        """Make a namespace, in which admin access to devices is allowed."""
        labels = {"resource.kubernetes.io/admin-access": "true"}
        self._make(apis.NAMESPACES, {"metadata": {"name": name, "labels": labels}})

    def make_node(self, name: str, *, boot_id: str) -> None:
        meta = {
            "name": name,
            "labels": {"kubernetes.io/hostname": name},
            "annotations": {"kwok.x-k8s.io/node": "fake"},  # for the project's kubelet
        }
        self._make(apis.NODES, {"metadata": meta})
        self.set_boot_id(name, boot_id)

    def set_boot_id(self, node: str, boot_id: str) -> None:
        """Let the node have another boot id, as after a reboot."""
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"nodeInfo": {"bootID": boot_id}, "conditions": [ready]}
        with apis.if_there():
            self.api.patch(apis.NODES, node, {"status": status}, subresource="status")

    def slices(self) -> list[Object]:
        """Return all ResourceSlices."""
        return self.api.list(apis.SLICES).items

    def remove_slices(self, driver: str = "") -> None:
        """Delete all slices of a driver, as a kubelet does; without a name those of all drivers."""
        for item in self.slices():
            if driver in ("", item["spec"]["driver"]):
                with apis.if_there():
                    self.api.delete(apis.SLICES, item["metadata"]["name"])

    def classes(self) -> dict[str, Object]:
        """Return name -> DeviceClass."""
        return {item["metadata"]["name"]: item for item in self.api.list(apis.DEVICE_CLASSES).items}

    def class_of(self, driver: str) -> str:
        """Return the name of a DeviceClass of the driver's devices; make one if there is none."""
        for name, item in self.classes().items():
            if f'"{driver}"' in json.dumps(item["spec"]).replace("\\", "").replace("'", '"'):
                return name
        selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
        spec = {"selectors": [selector]}
        self._make(apis.DEVICE_CLASSES, {"metadata": {"name": driver}, "spec": spec})
        return driver

    def make_claim(self, namespace: str, name: str, spec: Object) -> Object:
        made = _document(apis.CLAIMS, {"metadata": {"name": name}, "spec": spec})
        return self.api.create(apis.CLAIMS, made, namespace=namespace)

    def claim(self, namespace: str, name: str) -> Object:
        return self.found(apis.CLAIMS, namespace, name)

    def found(self, resource: apis.Resource, namespace: str, name: str) -> Object:
        """Return an object; empty if it is gone."""
        try:
            return self.api.get(resource, name, namespace=namespace)
        except apis.ApiError as error:
            if not error.is_not_found:
                raise
            return {}

    def set_status(self, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        """Change the status of a claim."""
        with apis.if_there():
            self.api.patch(
                apis.CLAIMS, name, {"status": status}, namespace=namespace, subresource="status"
            )

    def remove_claim(self, namespace: str, name: str) -> None:
        """Delete a claim by force: without its finalizers and at once."""
        self.delete_now(apis.CLAIMS, namespace, name)
        try:  # a merge patch would re-write parameters
            self.api.patch(
                apis.CLAIMS,
                name,
                _NO_FINALIZERS,
                namespace=namespace,
                kind=apis.PatchKind.JSON,
            )
        except apis.ApiError as error:
            if error.code not in (404, 422):  # gone, or without finalizers
                raise

    def delete_now(self, resource: apis.Resource, namespace: str, name: str) -> None:
        """Delete an object with a grace period of 0."""
        with apis.if_there():
            self.api.delete(resource, name, namespace=namespace, grace_period_s=0)

    def _make(self, resource: apis.Resource, parts: Object) -> None:
        """Make an object unless it is there."""
        with _if_new():
            self.api.create(resource, _document(resource, parts))


def _document(resource: apis.Resource, parts: Object) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **parts}


@contextlib.contextmanager
def _if_new() -> Iterator[None]:
    try:
        yield
    except apis.ApiError as error:
        if not error.is_already_exists:
            raise


class HeldReads:
    """Reads of claims by the driver, whose answers the API server holds back while it is asked to.

    Only the embedded API server can do it.
    """

    def __init__(self, transport: transports.Transport) -> None:
        self._transport = transport

    def hold(self, namespace: str, name: str) -> None:
        """From now on hold the answers to reads of a claim."""
        match = {
            "verbs": ["get"],
            "resource": "resourceclaims",
            "namespace": namespace,
            "name": name,
        }
        fault = {"point": "response", "action": {"type": "block"}, "match": match}
        self._send("POST", _FAULTS, {"name": _HELD_READ, **fault})

    def count(self) -> int:
        """Return how many answers are held now."""
        return int(self._send("GET", f"{_FAULTS}/{_HELD_READ}")["heldCount"])

    def release(self) -> None:
        """Let all answers go, and hold none any longer."""
        self._send("DELETE", f"{_FAULTS}/{_HELD_READ}", is_there=False)

    def _send(
        self, method: str, path: str, document: object = None, *, is_there: bool = True
    ) -> Object:
        body = None if document is None else json.dumps(document).encode()
        response = self._transport.send(transports.Request(method=method, path=path, body=body))
        if response.status >= 400 and (is_there or response.status != 404):
            raise errors.ClusterError(f"expected {method} {path} to succeed, got {response.status}")
        found: Object = json.loads(response.body or b"{}")
        return found

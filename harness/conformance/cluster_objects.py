"""Objects of the API server that a test of a driver needs: a node, claims, their allocations."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness import errors
from harness.client import apis, transports
from harness.faults import admin_api
from harness.model.objects import Object

_NO_FINALIZERS = [{"op": "remove", "path": "/metadata/finalizers"}]
_HELD_READ = "driver-test-held-read"


class ClusterObjects:
    """The objects of one API server and namespace.

    Calls raise HarnessError for an answer that they do not expect.
    """

    def __init__(self, transport: transports.Transport, namespace: str) -> None:
        self.api, self.namespace = apis.Api(transport), namespace

    def make_namespace(self) -> None:
        """Make the namespace, in which admin access to devices is allowed."""
        labels = {"resource.kubernetes.io/admin-access": "true"}
        with _if_new():
            self.make(apis.NAMESPACES, self.namespace, labels=labels)

    def make_node(self, name: str, *, boot_id: str) -> None:
        labels = {"kubernetes.io/hostname": name}
        fake = {"kwok.x-k8s.io/node": "fake"}  # for the project's kubelet
        with _if_new():
            self.make(apis.NODES, name, labels=labels, annotations=fake)
        self.set_boot_id(name, boot_id)

    def set_boot_id(self, node: str, boot_id: str) -> None:
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"nodeInfo": {"bootID": boot_id}, "conditions": [ready]}
        with apis.if_there():
            self.api.patch(apis.NODES, node, {"status": status}, subresource="status")

    def slices(self) -> list[Object]:
        return self.api.list(apis.SLICES).items

    def remove_slices(self, driver: str = "") -> None:
        """Delete all slices of a driver, as a kubelet does; without a name those of all drivers."""
        for item in self.slices():
            if driver in ("", item["spec"]["driver"]):
                with apis.if_there():
                    self.api.delete(apis.SLICES, item["metadata"]["name"])

    def classes(self) -> dict[str, Object]:
        return {item["metadata"]["name"]: item for item in self.api.list(apis.DEVICE_CLASSES).items}

    def class_of(self, driver: str) -> str:
        """Return the name of a DeviceClass of the driver's devices; make one if there is none."""
        for name, item in self.classes().items():
            if f'"{driver}"' in json.dumps(item["spec"]).replace("\\", "").replace("'", '"'):
                return name
        selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
        with _if_new():
            self.make(apis.DEVICE_CLASSES, driver, {"selectors": [selector]})
        return driver

    def make(
        self, resource: apis.Resource, name: str, spec: Object | None = None, **metadata: Any
    ) -> Object:
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        made = {**kind, "metadata": {"name": name, **metadata}}
        if spec is not None:
            made["spec"] = spec
        return self.api.create(resource, made, namespace=self.namespace)

    def found(self, resource: apis.Resource, name: str) -> Object:
        """Return an object; empty if it is gone."""
        try:
            return self.api.get(resource, name, namespace=self.namespace)
        except apis.ApiError as error:
            if not error.is_not_found:
                raise
            return {}

    def set_status(self, claim: str, status: Mapping[str, Any]) -> None:
        document = {"status": status}
        with apis.if_there():
            self.api.patch(
                apis.CLAIMS, claim, document, namespace=self.namespace, subresource="status"
            )

    def remove(self, resource: apis.Resource, name: str) -> None:
        with apis.if_there():
            self.api.delete(resource, name, namespace=self.namespace, grace_period_s=0)

    def remove_claim(self, name: str) -> None:
        """Delete a claim by force: without its finalizers and at once."""
        self.remove(apis.CLAIMS, name)
        kind = apis.PatchKind.JSON  # a merge patch would re-write parameters
        try:
            self.api.patch(apis.CLAIMS, name, _NO_FINALIZERS, namespace=self.namespace, kind=kind)
        except apis.ApiError as error:
            if error.code not in (404, 422):  # gone, or without finalizers
                raise

    # Reads of claims by the driver, whose answers only the embedded API server can hold back

    def hold_reads(self, claim: str) -> None:
        match = {"verbs": ["get"], "resource": "resourceclaims", "name": claim}
        match["namespace"] = self.namespace
        fault = {"point": "response", "action": {"type": "block"}, "match": match}
        self._send("POST", "faults", {"name": _HELD_READ, **fault})

    def held_reads(self) -> int:
        return int(self._send("GET", f"faults/{_HELD_READ}")["heldCount"])

    def release_reads(self) -> None:
        self._send("DELETE", f"faults/{_HELD_READ}", is_there=False)

    def _send(
        self, method: str, path: str, document: object = None, *, is_there: bool = True
    ) -> Object:
        body = None if document is None else json.dumps(document).encode()
        asked = transports.Request(method=method, path=admin_api.PREFIX + path, body=body)
        response = self.api.transport.send(asked)
        if response.status >= 400 and (is_there or response.status != 404):
            raise errors.ClusterError(f"expected {method} {path} to succeed, got {response.status}")
        found: Object = json.loads(response.body or b"{}")
        return found


@contextlib.contextmanager
def _if_new() -> Iterator[None]:
    try:
        yield
    except apis.ApiError as error:
        if not error.is_already_exists:
            raise

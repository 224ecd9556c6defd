"""The verbs of the Kubernetes API over any transport, with objects as plain decoded JSON."""

import contextlib
import dataclasses
import enum
import functools
import pathlib
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from harness import errors
from harness.client import transports
from harness.model.objects import Object

_MESSAGE_CHARACTERS_MAX = 400
WATCH_TIMEOUT_S = 300
"""The `timeoutSeconds` of a watch: the server ends it after this time."""
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource that the harness uses."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: `v1`, `resource.k8s.io/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """Return the URL path of the collection, of an object, or of an object's subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        space = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        item = f"/{name}" if name else ""
        return f"{root}{space}/{self.plural}{item}" + (f"/{subresource}" if subresource else "")


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", namespaced=True)
EVENTS = Resource("", "v1", "events", "Event", namespaced=True)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", namespaced=True)
CLAIM_TEMPLATES = Resource(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", namespaced=True
)
SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
DEVICE_CLASSES = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
TAINT_RULES = Resource(
    "resource.k8s.io", "v1beta2", "devicetaintrules", "DeviceTaintRule", namespaced=False
)
OLD_TAINT_RULES = Resource(
    "resource.k8s.io", "v1alpha3", "devicetaintrules", "DeviceTaintRule", namespaced=False
)
"""The version before Kubernetes 1.36."""
POD_GROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup", namespaced=True)
BY_PLURAL = {
    item.plural: item
    for item in (
        NAMESPACES,
        NODES,
        PODS,
        EVENTS,
        LEASES,
        CLAIMS,
        CLAIM_TEMPLATES,
        SLICES,
        DEVICE_CLASSES,
        TAINT_RULES,
        POD_GROUPS,
    )
}


class PatchKind(enum.Enum):
    """The content types of patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class ApiError(errors.HarnessError):
    """The API server answered with a `Status` of failure."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message[:_MESSAGE_CHARACTERS_MAX]}")
        self.code, self.reason, self.message = code, reason, message

    @property
    def is_not_found(self) -> bool:
        return self.code == 404

    @property
    def is_conflict(self) -> bool:
        """True if the object has changed, or its state does not allow the write."""
        return self.code == 409 and self.reason != "AlreadyExists"

    @property
    def is_already_exists(self) -> bool:
        return self.code == 409 and self.reason == "AlreadyExists"

    @property
    def is_forbidden(self) -> bool:
        return self.code == 403

    @property
    def is_gone(self) -> bool:
        return self.code == 410


@contextlib.contextmanager
def connected(kubeconfig: pathlib.Path) -> Iterator["Api"]:
    """Yield the API of a kubeconfig's server, whose connection ends with the `with` block."""
    with contextlib.closing(transports.connect(kubeconfig)) as transport:
        yield Api(transport)


@contextlib.contextmanager
def if_there() -> Iterator[None]:
    """Ignore 404: for operations on objects that may have been deleted already."""
    try:
        yield
    except ApiError as error:
        if not error.is_not_found:
            raise


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """A complete list and its resource version."""

    items: list[Object]
    """The objects; real API servers omit their `kind` and `apiVersion`."""
    resource_version: str


class Api:
    """The verbs of the API. Each raises ApiError, or TransportError if there is no response."""

    def __init__(self, transport: transports.Transport) -> None:
        self.transport = transport

    def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return an object. Raises ApiError 404 if it does not exist."""
        return self._call("GET", resource.path(namespace, name))

    def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        is_cached: bool = False,
    ) -> Listing:
        """Return a collection in one consistent response. `namespace` None: all namespaces.

        `is_cached`: any state will do, also an older one from a watch cache (resourceVersion 0).
        """
        query = {"labelSelector": label_selector} if label_selector else {}
        if is_cached:
            query["resourceVersion"] = "0"
        listed = self._call("GET", _with_query(resource.path(namespace), query))
        return Listing(listed.get("items") or [], listed["metadata"]["resourceVersion"])

    def create(self, resource: Resource, obj: Object, *, namespace: str | None = None) -> Object:
        return self._call("POST", resource.path(namespace), obj)

    def require_accepted(self, resource: Resource, obj: Object, *, namespace: str) -> None:
        """Raise ApiError if the server would not create an object; none is created."""
        self._call("POST", f"{resource.path(namespace)}?dryRun=All", obj)

    def update(self, resource: Resource, obj: Object, *, subresource: str | None = None) -> Object:
        """Replace an object except its status, or a subresource; return the object as stored.

        The subresource `finalize` of a namespace is its `spec.finalizers`.
        """
        meta = obj["metadata"]
        path = resource.path(meta.get("namespace"), meta["name"], subresource)
        return self._call("PUT", path, obj)

    def update_status(self, resource: Resource, obj: Object) -> Object:
        """Replace the status of an object and return it as stored."""
        return self.update(resource, obj, subresource="status")

    def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        namespace: str | None = None,
        kind: PatchKind = PatchKind.MERGE,
        subresource: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
    ) -> Object:
        """Patch an object or subresource and return it as stored.

        `field_manager` and `force` are the options of server-side apply.
        """
        query = {"fieldManager": field_manager} if field_manager else {}
        if force:
            query["force"] = "true"
        path = _with_query(resource.path(namespace, name, subresource), query)
        return self._call("PATCH", path, patch, content_type=kind.value)

    def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        grace_period_s: int | None = None,
    ) -> Object:
        """Delete an object, or mark it for deletion, and return the server's response.

        Raises ApiError 409 if `uid` is given and the object has another one.
        """
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_period_s is not None:
            options["gracePeriodSeconds"] = grace_period_s
        return self._call("DELETE", resource.path(namespace, name), options)

    def bind(self, pod: Object, node_name: str) -> None:
        meta = pod["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
            "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
        }
        self._call("POST", PODS.path(meta["namespace"], meta["name"], "binding"), binding)

    def served(self, version: Resource) -> frozenset[str]:
        """Return the plurals of what is served in the group and version of a resource.

        Empty if the version is not served at all.
        """
        root = version.path().rpartition("/")[0]
        try:
            listed = self._call("GET", root)
        except ApiError as error:
            if not error.is_not_found:
                raise
            return frozenset()
        return frozenset(item["name"] for item in listed["resources"])

    def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        timeout_s: int = WATCH_TIMEOUT_S,
    ) -> transports.Watch:
        """Watch the changes after a resource version. Raises ApiError if that is rejected."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_s),
        }
        if label_selector:
            query["labelSelector"] = label_selector
        path = _with_query(resource.path(namespace), query)
        watch = self.transport.watch(transports.Request(method="GET", path=path))
        if watch.status != 200:
            raise to_error(watch.status, b"".join(watch))
        return watch

    def _call(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> Object:
        request = transports.Request(
            method=method,
            path=path,
            body=None if body is None else _encoder.encode(body),
            content_type=content_type,
        )
        response = self.transport.send(request)
        if response.status >= 400:
            raise to_error(response.status, response.body)
        decoded: Object = _decoder.decode(response.body)
        return decoded


def to_error(code: int, body: bytes) -> ApiError:
    """Return the error of a failed response, from its `Status` or else from its text."""
    try:
        status = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = body[:_MESSAGE_CHARACTERS_MAX].decode(errors="replace")
        return ApiError(code, "", text or "(no body)")
    return error_of(status, code)


def error_of(status: Object, code: int) -> ApiError:
    """Return the error of a `Status`; `code` if it has none of its own."""
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    return ApiError(int(status.get("code") or code), reason, message)


def _with_query(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{_encoded(tuple(query.items()))}" if query else path


@functools.lru_cache(256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    return urllib.parse.urlencode(query)

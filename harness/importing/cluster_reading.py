"""Reads the objects of an import from an API server. Nothing is written there."""

import pathlib
import urllib.parse
from collections.abc import Iterator, Sequence

import msgspec

from harness import errors
from harness.client import apis, kubeconfig_files, kubeconfigs, transports
from harness.importing import checking, materials
from harness.manifests import reading, sources
from harness.model.objects import Object

PAGE = 500
"""Objects in one response."""
_GROUP = "resource.k8s.io"
_VERSIONS, _RULE_VERSIONS = ("v1", "v1beta2", "v1beta1"), ("v1", "v1beta2", "v1alpha3")
_REFUSED = {
    401: ": log in again, then retry",
    403: ": use other credentials, or import from files (`kubectl get resourceslices,deviceclasses,nodes -o yaml`)",
    404: "",
}
"""HTTP status -> the advice behind the API server's own words."""
_OF_OTHERS = (
    apis.Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", namespaced=True),
    apis.Resource(
        "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", namespaced=True
    ),
    apis.Resource("ray.io", "v1", "rayclusters", "RayCluster", namespaced=True),
)


def read(kubeconfig: Sequence[pathlib.Path], *, namespace: str) -> materials.Materials:
    """Return what a cluster has; of one namespace, if it is named, also its claims and workloads.

    Raises UnusableClusterError if there is no whole answer or it is a refusal, ClusterError for
    other errors of the server, and KubeconfigError for a kubeconfig that cannot be used.
    """
    document = kubeconfig_files.extracted(kubeconfig)
    where = kubeconfig_files.joined(kubeconfig)
    transport = transports.HttpTransport(kubeconfigs.endpoint(document, where))
    try:
        return Reader(transport, document["current-context"]).read(namespace)
    finally:
        transport.close()


class Reader:
    """Reads from one API server."""

    def __init__(self, transport: transports.Transport, context: str) -> None:
        self._transport, self._context = transport, context

    def read(self, namespace: str) -> materials.Materials:
        """Return the materials; see `read` of the module."""
        found, version = materials.Materials(), self._version()
        for resource in (apis.SLICES, apis.DEVICE_CLASSES, apis.NODES):
            found.add(self._objects(_in(resource, version), found.notes))
        found.add(self._rules(found.notes))
        found.add(self._objects(_in(apis.CLAIM_TEMPLATES, version), found.notes, namespace))
        if namespace:
            self._read_namespace(found, version, namespace)
        return found

    def _read_namespace(self, found: materials.Materials, version: str, namespace: str) -> None:
        self._ask(apis.NAMESPACES.path(None, namespace), f"namespace {namespace}")
        found.add(self._objects(_in(apis.CLAIMS, version), found.notes, namespace))
        for resource in (*materials.WORKLOADS.values(), apis.POD_GROUPS, *_OF_OTHERS):
            if resource is apis.PODS or self._is_served(resource):
                found.add(self._objects(resource, found.notes, namespace))

    def _rules(self, notes: materials.Notes) -> Iterator[Object]:
        """Yield the DeviceTaintRules, of the newest version that has any."""
        for version in _RULE_VERSIONS:
            if self._is_served(resource := _in(apis.TAINT_RULES, version)):
                yield from self._objects(resource, notes)
                return

    def _is_served(self, resource: apis.Resource) -> bool:
        path = resource.path().rpartition("/")[0]
        listed = self._ask(path, path, if_there=True)
        return any(item["name"] == resource.plural for item in listed.get("resources") or [])

    def _version(self) -> str:
        for version in _VERSIONS:
            if self._is_served(_in(apis.SLICES, version)):
                return version
        raise errors.UnusableClusterError(
            f"context {self._context!r}: expected an API server with {_GROUP} in {' or '.join(_VERSIONS)} "
            "(Kubernetes 1.32 or newer), got one without"
        )

    def _objects(
        self, resource: apis.Resource, notes: materials.Notes, namespace: str = ""
    ) -> Iterator[Object]:
        items = self._items(resource, namespace)
        yield from checking.checked((self._manifest(item, resource) for item in items), notes)

    def _items(self, resource: apis.Resource, namespace: str) -> Iterator[Object]:
        where, query = resource.path(namespace), {"limit": str(PAGE)}
        while True:
            listed = self._ask(f"{where}?{urllib.parse.urlencode(query)}", resource.plural)
            yield from listed.get("items") or []
            if not (rest := listed["metadata"].get("continue")):
                return
            query["continue"] = rest

    def _manifest(self, item: Object, resource: apis.Resource) -> sources.Manifest:
        typed = {**item, "apiVersion": resource.api_version, "kind": resource.kind}
        source = sources.Source(path=f"context {self._context}")
        return reading.made(typed, source, keeps_owners=True)

    def _ask(self, path: str, what: str, *, if_there: bool = False) -> Object:
        """Return the answer to a GET; `if_there`: an empty one for 404. Raises as `read` does."""
        try:
            response = self._transport.send(transports.Request(method="GET", path=path))
        except transports.TransportError as error:
            raise errors.UnusableClusterError(
                f"context {self._context!r}: {error}. Is the cluster up and reachable from this machine?"
            ) from error
        if if_there and response.status == 404:
            return {}
        if response.status >= 400:
            said = apis.to_error(response.status, response.body)
            kind = errors.UnusableClusterError if said.code in _REFUSED else errors.ClusterError
            raise kind(f"context {self._context!r}: {what}: {said}{_REFUSED.get(said.code, '')}")
        try:
            answer: Object = msgspec.json.decode(response.body)
        except msgspec.DecodeError as error:
            raise errors.UnusableClusterError(
                f"context {self._context!r}: expected JSON as {what}, got something else: is this an API server?"
            ) from error
        return answer


def _in(resource: apis.Resource, version: str) -> apis.Resource:
    return apis.Resource(
        resource.group, version, resource.plural, resource.kind, namespaced=resource.namespaced
    )

"""Reads the objects of an import from an API server. Nothing is written there."""

import dataclasses
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
        slices = self._newest(apis.SLICES, _VERSIONS)
        if slices is None:
            raise errors.UnusableClusterError(
                f"context {self._context!r}: expected an API server with {_GROUP} in {' or '.join(_VERSIONS)} "
                "(Kubernetes 1.32 or newer), got one without"
            )
        classes, templates, claims = (
            dataclasses.replace(one, version=slices.version)
            for one in (apis.DEVICE_CLASSES, apis.CLAIM_TEMPLATES, apis.CLAIMS)
        )
        rules = self._newest(apis.TAINT_RULES, _RULE_VERSIONS)
        wanted = [slices, classes, apis.NODES, *filter(None, [rules]), templates]
        if namespace:
            self._ask(apis.NAMESPACES.path(None, namespace), f"namespace {namespace}")
            workloads = (*materials.WORKLOADS.values(), apis.POD_GROUPS, *_OF_OTHERS)
            wanted += [claims, *(one for one in workloads if self._is_served(one))]
        found = materials.Materials()
        for resource in wanted:
            found.add(checking.checked(self._manifests(resource, namespace), found.notes))
        return found

    def _newest(self, resource: apis.Resource, versions: Sequence[str]) -> apis.Resource | None:
        known = (dataclasses.replace(resource, version=version) for version in versions)
        return next(filter(self._is_served, known), None)

    def _is_served(self, resource: apis.Resource) -> bool:
        if not resource.group:
            return True
        path = resource.path().rpartition("/")[0]
        listed = self._ask(path, path, if_there=True)
        return any(item["name"] == resource.plural for item in listed.get("resources") or [])

    def _manifests(self, resource: apis.Resource, namespace: str) -> Iterator[sources.Manifest]:
        where, query = resource.path(namespace), {"limit": str(PAGE)}
        source = sources.Source(path=f"context {self._context}")
        typed = {"apiVersion": resource.api_version, "kind": resource.kind}
        while True:
            listed = self._ask(f"{where}?{urllib.parse.urlencode(query)}", resource.plural)
            for item in listed.get("items") or []:
                yield reading.made({**item, **typed}, source, keeps_owners=True)
            if not (rest := listed["metadata"].get("continue")):
                return
            query["continue"] = rest

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

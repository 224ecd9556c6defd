"""The `kubeconfig` provider: an existing cluster, which others may depend on.

The cluster must be marked as a test cluster by an annotation of its `default` namespace, unless the
caller vouches for it with `i_know_this_cluster`. A run creates only objects that carry its id in
name and label, and removes exactly these (`fake_world`). One context of the kubeconfig is copied,
so that a later change of the user's current context cannot redirect a run.
"""

import contextlib
import dataclasses
import os
import pathlib
from collections.abc import Mapping

import msgspec

from harness import errors
from harness.client import apis, kubeconfig_files, kubeconfigs, transports
from harness.cluster import cluster_records, interfaces
from harness.cluster.fake_nodes import fake_world
from harness.model.objects import Object
from harness.scenario import profiles

MARK = "flake-hunt/test-cluster"
"""Annotation of the `default` namespace that marks a test cluster; its value must be "true"."""
KUBECONFIG = "kubeconfig"
_MARKED = "true"
_VERSION_MIN = "1.34"


@dataclasses.dataclass(kw_only=True)
class ExistingCluster(interfaces.Cluster):
    """An existing cluster, which outlives the run."""

    name: str
    kubeconfig: pathlib.Path
    versions: Mapping[str, str]

    def down(self) -> None:
        self.kubeconfig.unlink(missing_ok=True)


class Provider(interfaces.Provider[profiles.KubeconfigProfile]):
    """Provides a cluster from one context of a kubeconfig."""

    @property
    def capabilities(self) -> interfaces.Capabilities:
        managed = self._profile.controller_manager
        return interfaces.Capabilities(
            exclusive=False,
            scheduler=True,
            claim_controller=managed,
            namespace_controller=managed,
            garbage_collector=None if managed else False,
            service_accounts=managed,
        )

    def check(self) -> None:
        with cluster_records.temporary_folder() as folder:
            self._enter(folder / KUBECONFIG)

    def up(self, request: interfaces.ClusterRequest) -> ExistingCluster:
        path = request.directory / KUBECONFIG
        try:
            version = self._enter(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return ExistingCluster(name=request.name, kubeconfig=path, versions={"kubernetes": version})

    def is_there(self, request: interfaces.ClusterRequest) -> bool:
        return (request.directory / KUBECONFIG).is_file()

    def reap(self, request: interfaces.ClusterRequest) -> None:
        """Remove the objects of the recorded runs, found by label, then the copied kubeconfig."""
        path = request.directory / KUBECONFIG
        if not path.is_file():
            return  # it is copied before any object is created
        try:
            with apis.connected(path) as api:
                for run_id in request.runs:
                    world = fake_world.find(api, run_id, on=self.capabilities)
                    if world is not None:
                        fake_world.remove(api, world)
        except (apis.ApiError, transports.TransportError) as error:
            raise errors.ClusterError(
                f"{request.name}: expected to remove what is left on the cluster of {path} ({error})"
            ) from error
        path.unlink()

    def _enter(self, path: pathlib.Path) -> str:
        """Write the kubeconfig and return the server's version.

        Raises ClusterError or UsageError with a remedy if the cluster cannot be used.
        """
        named = self._profile.kubeconfig
        paths = [pathlib.Path(part).expanduser() for part in named.split(os.pathsep)]
        context = kubeconfigs.extract(
            paths if named else kubeconfig_files.default_paths(),
            path,
            context=self._profile.context,
        )
        try:
            with contextlib.closing(transports.connect(path)) as transport:
                version = _require(transport, "/version", context).get("gitVersion", "unknown")
                _require(transport, apis.SLICES.path().rpartition("/")[0], context)
                self._require_mark(transport, context)
        except transports.TransportError as error:
            raise errors.ClusterError(
                f"context {context!r}: {error}. Is the cluster up and reachable from this machine? "
                f"Try: kubectl --context {context} version (Flake Hunt uses only the proxy-url of the kubeconfig)"
            ) from error
        return str(version)

    def _require_mark(self, transport: transports.Transport, context: str) -> None:
        space = _require(transport, apis.NAMESPACES.path(None, "default"), context)
        marks = space.get("metadata", {}).get("annotations") or {}
        if self._profile.i_know_this_cluster or marks.get(MARK) == _MARKED:
            return
        raise errors.UsageError(
            f"context {context!r}: expected a cluster marked for tests, but this one is not; nothing was changed. "
            f"To mark it: kubectl --context {context} annotate namespace default {MARK}={_MARKED} "
            "(to use an unmarked cluster once: --cluster i_know_this_cluster=true)"
        )


def _require(transport: transports.Transport, path: str, context: str) -> Object:
    request = transports.Request(method="GET", path=path)
    response = transport.send(request)
    if response.status < 400:
        answer: Object = msgspec.json.decode(response.body)
        return answer
    raise errors.ClusterError(
        f"context {context!r}: expected an answer to GET {path}, got "
        f"{apis.to_error(response.status, response.body)}: use Kubernetes {_VERSION_MIN} or newer, and "
        "credentials that have not expired and may create namespaces, nodes, device classes and "
        "resource slices"
    )

"""The `kind` provider: a real Kubernetes cluster in one Docker container."""

import contextlib
import dataclasses
import pathlib
import sys
from collections.abc import Mapping

from harness import errors
from harness.cluster import components, control_plane_settings, interfaces, state_folder
from harness.cluster.kind import (
    docker_engine,
    kind_command,
    kind_config,
    node_containers,
)
from harness.scenario import profiles

NODE_SUFFIX = "-control-plane"
KUBECONFIG = "kubeconfig"
EXPORTED = "kind-logs"
"""Folder of the logs that kind exports, inside the folder of the logs."""
SETTLE_S = 2.0
"""How long to look for containers that the engine still creates for an interrupted command."""


@dataclasses.dataclass(kw_only=True)
class KindCluster(interfaces.Cluster):
    """A cluster created by kind."""

    name: str
    directory: pathlib.Path
    kubeconfig: pathlib.Path
    """The cluster's own: ~/.kube/config is never touched."""
    versions: Mapping[str, str]
    audited: bool

    @property
    def node(self) -> str:
        return self.name + NODE_SUFFIX

    def exit_report(self) -> str | None:
        with contextlib.suppress(errors.ClusterError), docker_engine.connected() as engine:
            if not any(node.running for node in engine.nodes(self.name)):
                return f"the container {self.node} does not run"
        return None

    def restart_api_server(self, *, kill: bool, down_s: float) -> components.End:
        with docker_engine.connected() as engine:
            return node_containers.restart(
                engine, self.node, self.kubeconfig, kill=kill, down_s=down_s
            )

    def save_audit_log(self, into: pathlib.Path, *, after: int) -> None:
        del after
        if self.audited:
            save_audit_log(self.name, into)

    def collect_logs(self, into: pathlib.Path) -> None:
        """Save all logs of the node if the run is failing or the node has died."""
        if sys.exception() is not None or self.exit_report() is not None:
            self.export_logs(into)

    def export_logs(self, into: pathlib.Path) -> None:
        with contextlib.suppress(errors.HarnessError):
            kind_command.export_logs(self.name, into / EXPORTED, log=_log(self.directory))

    def down(self) -> None:
        with docker_engine.connected() as engine:
            node_containers.remove(engine, self.name)
        forget_kubeconfig(self.kubeconfig)


class Provider(interfaces.Provider):
    """Starts clusters with the kind command."""

    def __init__(self, profile: profiles.KindProfile) -> None:
        self._profile = profile

    @property
    def capabilities(self) -> interfaces.Capabilities:
        return kind_config.of_profile(self._profile)

    def check(self) -> None:
        kind_command.version(at_least=self._profile.kind_min)
        with docker_engine.connected() as engine:
            engine.describe()
        archive = self._profile.image_archive
        if archive and not pathlib.Path(archive).is_file():
            raise errors.UsageError(f"expected an image archive, but {archive} is not a file")

    def require_free(self, request: interfaces.ClusterRequest) -> None:
        """Raise UsageError if the engine, which others share, has containers of this name."""
        with docker_engine.connected() as engine:
            node_containers.require_free(engine, node_containers.cluster_name(request.name))

    def up(self, request: interfaces.ClusterRequest) -> KindCluster:
        """Start the cluster and verify its settings; a failure leaves only logs."""
        version = kind_command.version(at_least=self._profile.kind_min)
        with docker_engine.connected() as engine:
            description = engine.describe()
            cluster = KindCluster(
                name=node_containers.cluster_name(request.name),
                directory=request.directory,
                kubeconfig=request.directory / KUBECONFIG,
                audited=self._profile.audit_log,
                versions={
                    "kubernetes": self._profile.kubernetes,
                    "node image": self._profile.image,
                    "kind": version,
                    "container engine": str(description.get("ServerVersion", "unknown")),
                },
            )
            node_containers.require_free(engine, cluster.name)
            choices = self._write_inputs(cluster, cgroups=str(description.get("CgroupVersion")))
            try:
                _create(engine, cluster, self._profile.wait_s)
                node_containers.verify(
                    engine, cluster.node, cluster.kubeconfig, self._profile, choices
                )
            except BaseException as error:
                if isinstance(error, errors.HarnessError):
                    cluster.export_logs(cluster.directory)
                node_containers.remove(engine, cluster.name, settle_s=SETTLE_S)
                forget_kubeconfig(cluster.kubeconfig)
                raise
        return cluster

    def is_there(self, request: interfaces.ClusterRequest) -> bool:
        with docker_engine.connected() as engine:
            nodes = engine.nodes(node_containers.cluster_name(request.name))
        return any(node.running for node in nodes)

    def reap(self, request: interfaces.ClusterRequest) -> None:
        """Remove containers, volumes and the kubeconfig.

        Also removes containers that the engine still creates for a command that has died.
        """
        with docker_engine.connected() as engine:
            node_containers.remove(
                engine, node_containers.cluster_name(request.name), settle_s=SETTLE_S
            )
        forget_kubeconfig(request.directory / KUBECONFIG)

    def collect_logs(self, request: interfaces.ClusterRequest, into: pathlib.Path) -> None:
        name = node_containers.cluster_name(request.name)
        if self._profile.audit_log:
            save_audit_log(name, into / "audit")
        kind_command.export_logs(name, into / EXPORTED, log=_log(request.directory))

    def _write_inputs(self, cluster: KindCluster, *, cgroups: str) -> kind_config.Choices:
        """Write the files for kind; load the archive of the image if one is named.

        A loaded image has no digest; its version is verified later.
        """
        profile, image = self._profile, self._profile.image
        policy = (cluster.directory / "audit-policy.yaml").resolve()
        if profile.image_archive:
            with docker_engine.connected(timeout_s=docker_engine.LOAD_TIMEOUT_S) as engine:
                image = engine.load(pathlib.Path(profile.image_archive))
        choices = kind_config.Choices(
            image=image,
            audit_policy=policy if profile.audit_log else None,
            cgroup_version=cgroups,
        )
        policy.write_text(control_plane_settings.audit_policy())
        _config(cluster.directory).write_text(kind_config.text(profile, choices))
        return choices


def save_audit_log(name: str, into: pathlib.Path) -> None:
    with docker_engine.connected() as engine:
        engine.save_folder(name + NODE_SUFFIX, kind_config.AUDIT_FOLDER, into)


def forget_kubeconfig(path: pathlib.Path) -> None:
    """Remove a cluster's kubeconfig, and the lock file left by an interrupted kind."""
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def _create(engine: docker_engine.Engine, cluster: KindCluster, wait_s: int) -> None:
    """Create the cluster.

    The first cluster is created alone: two at once would each create the shared network.
    """
    with contextlib.ExitStack() as alone:
        alone.enter_context(kind_command.locked(state_folder.folder() / "kind.lock"))
        if engine.has_network():
            alone.close()
        kind_command.create(
            cluster.name,
            config=_config(cluster.directory),
            kubeconfig=cluster.kubeconfig,
            log=_log(cluster.directory),
            wait_s=wait_s,
        )


def _config(directory: pathlib.Path) -> pathlib.Path:
    return directory / "kind.yaml"


def _log(directory: pathlib.Path) -> pathlib.Path:
    return directory / "kind.log"

"""The `kind` provider: a real Kubernetes cluster in one Docker container."""

import contextlib
import pathlib
import sys

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


class KindCluster(interfaces.Cluster):
    """A cluster of the kind command, by its name alone."""

    def __init__(self, profile: profiles.KindProfile, request: interfaces.ClusterRequest) -> None:
        self.name = node_containers.cluster_name(request.name)
        self.node = self.name + NODE_SUFFIX
        self.kubeconfig = request.directory / KUBECONFIG
        """Its own: ~/.kube/config is never touched."""
        self.versions: dict[str, str] = {}
        self._is_audited, self._folder = profile.audit_log, request.directory
        self.config, self.log = self._folder / "kind.yaml", self._folder / "kind.log"

    def is_running(self, engine: docker_engine.Engine) -> bool:
        return any(node.running for node in engine.nodes(self.name))

    def exit_report(self) -> str | None:
        with contextlib.suppress(errors.ClusterError), docker_engine.connected() as engine:
            if not self.is_running(engine):
                return f"the container {self.node} does not run"
        return None

    def restart_api_server(self, *, kill: bool, down_s: float) -> components.End:
        with docker_engine.connected() as engine:
            return node_containers.restart(
                engine, self.node, self.kubeconfig, kill=kill, down_s=down_s
            )

    def save_audit_log(self, into: pathlib.Path, *, after: int = 0) -> None:
        del after
        if self._is_audited:
            with docker_engine.connected() as engine:
                engine.save_folder(self.node, kind_config.AUDIT_FOLDER, into)

    def collect_logs(self, into: pathlib.Path) -> None:
        """Save all logs of the node if the run is failing or the node has died."""
        if sys.exception() is not None or self.exit_report() is not None:
            with contextlib.suppress(errors.HarnessError):
                self.export_logs(into)

    def export_logs(self, into: pathlib.Path) -> None:
        kind_command.export_logs(self.name, into / EXPORTED, log=self.log)

    def down(self, *, settle_s: float = 0.0) -> None:
        """Remove containers, volumes and the kubeconfig.

        `settle_s`: how long to look for containers that the engine still creates for a command
        that has died.
        """
        with docker_engine.connected() as engine:
            node_containers.remove(engine, self.name, settle_s=settle_s)
        self.kubeconfig.unlink(missing_ok=True)
        self.kubeconfig.with_name(f"{KUBECONFIG}.lock").unlink(missing_ok=True)


class Provider(interfaces.Provider[profiles.KindProfile]):
    """Starts clusters with the kind command."""

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
        cluster = KindCluster(self._profile, request)
        with docker_engine.connected() as engine:
            description = engine.describe()
            cluster.versions = {
                "kubernetes": self._profile.kubernetes,
                "node image": self._profile.image,
                "kind": version,
                "container engine": str(description.get("ServerVersion", "unknown")),
            }
            node_containers.require_free(engine, cluster.name)
            choices = self._write_inputs(cluster, cgroups=str(description.get("CgroupVersion")))
            try:
                _create(engine, cluster, self._profile.wait_s)
                node_containers.verify(
                    engine, cluster.node, cluster.kubeconfig, self._profile, choices
                )
            except BaseException as error:
                if isinstance(error, errors.HarnessError):
                    cluster.collect_logs(request.directory)
                cluster.down(settle_s=SETTLE_S)
                raise
        return cluster

    def is_there(self, request: interfaces.ClusterRequest) -> bool:
        with docker_engine.connected() as engine:
            return KindCluster(self._profile, request).is_running(engine)

    def reap(self, request: interfaces.ClusterRequest) -> None:
        KindCluster(self._profile, request).down(settle_s=SETTLE_S)

    def collect_logs(self, request: interfaces.ClusterRequest, into: pathlib.Path) -> None:
        cluster = KindCluster(self._profile, request)
        cluster.save_audit_log(into / "audit")
        cluster.export_logs(into)

    def _write_inputs(self, cluster: KindCluster, *, cgroups: str) -> kind_config.Choices:
        """Write the files for kind; load the archive of the image if one is named.

        A loaded image has no digest; its version is verified later.
        """
        profile, image = self._profile, self._profile.image
        policy = cluster.config.with_name("audit-policy.yaml").resolve()
        if profile.image_archive:
            with docker_engine.connected(timeout_s=docker_engine.LOAD_TIMEOUT_S) as engine:
                image = engine.load(pathlib.Path(profile.image_archive))
        choices = kind_config.Choices(
            image=image,
            audit_policy=policy if profile.audit_log else None,
            cgroup_version=cgroups,
        )
        policy.write_text(control_plane_settings.audit_policy())
        cluster.config.write_text(kind_config.text(profile, choices))
        return choices


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
            config=cluster.config,
            kubeconfig=cluster.kubeconfig,
            log=cluster.log,
            wait_s=wait_s,
        )

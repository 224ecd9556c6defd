"""The embedded provider: Flake Hunt's own API server as a process on loopback."""

import dataclasses
import importlib.metadata
import os
import pathlib
import socket

from harness import errors, processes
from harness.cluster import interfaces
from harness.scenario import profiles

ADDRESS = "127.0.0.1"
READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
KUBECONFIG, PLAIN_KUBECONFIG = "kubeconfig", "kubeconfig-plain"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedCluster:
    """An API server process and its kubeconfigs."""

    name: str
    kubeconfig: pathlib.Path
    """The kubeconfig for the harness's processes: plain HTTP saves the cost of TLS on loopback."""
    user_kubeconfig: pathlib.Path
    """The kubeconfig for kubectl and other programs, with TLS."""
    process: processes.Process

    @property
    def versions(self) -> dict[str, str]:
        """The version of the server, which is that of Flake Hunt."""
        return {"flake-hunt apiserver": importlib.metadata.version("flake-hunt")}

    @property
    def pids(self) -> list[int]:
        """The pid of the API server."""
        return [self.process.pid]

    def exit_report(self) -> str | None:
        """Return how the API server ended; None while it runs."""
        return self.process.exit_report()

    def collect_logs(self, into: pathlib.Path) -> None:
        """Do nothing: the server logs to the cluster's folder."""

    def down(self) -> None:
        """Stop the process and remove the kubeconfigs."""
        self.process.stop(timeout_s=STOP_TIMEOUT_S)
        self.kubeconfig.unlink(missing_ok=True)
        self.user_kubeconfig.unlink(missing_ok=True)


class Provider:
    """Starts embedded clusters."""

    # The server supports protobuf too, but is faster with JSON.
    capabilities = interfaces.Capabilities(protobuf=False)

    def __init__(self, profile: profiles.EmbeddedProfile) -> None:
        self._profile = profile

    def check(self) -> None:
        """Check that the ports named in the profile are free; the rest comes with Flake Hunt."""
        for port in filter(None, (self._profile.port, self._profile.tls_port)):
            _require_free(port)

    def require_free(self, request: interfaces.ClusterRequest) -> None:
        """Do nothing: an embedded cluster has no name outside its folder."""

    def up(self, request: interfaces.ClusterRequest) -> EmbeddedCluster:
        """Start the server and wait until it is ready."""
        return start(
            request.name,
            request.directory,
            with_parent=not request.stays,
            port=self._profile.port,
            tls_port=self._profile.tls_port,
        )

    def is_there(self, request: interfaces.ClusterRequest) -> bool:
        """Return True: the cluster consists of its process only."""
        del request
        return True

    def collect_logs(self, request: interfaces.ClusterRequest, into: pathlib.Path) -> None:
        """Do nothing: the server logs to the cluster's folder."""

    def reap(self, request: interfaces.ClusterRequest) -> None:
        """Remove the kubeconfigs, which contain a token."""
        names = (KUBECONFIG, PLAIN_KUBECONFIG)
        unfinished = request.directory.glob(".kubeconfig-*")
        for path in (*(request.directory / name for name in names), *unfinished):
            path.unlink(missing_ok=True)


def _require_free(port: int) -> None:
    try:
        socket.create_server((ADDRESS, port)).close()
    except OSError as error:
        raise errors.UsageError(
            f"expected port {port} of {ADDRESS} to be free ({os.strerror(error.errno or 0).lower()}): "
            "choose another one, or 0 for any free port"
        ) from error


def up(name: str, directory: pathlib.Path) -> EmbeddedCluster:
    """Start the server and wait until it is ready."""
    return start(name, directory, with_parent=True)


def start(
    name: str,
    directory: pathlib.Path,
    *,
    with_parent: bool,
    port: int = 0,
    tls_port: int = 0,
) -> EmbeddedCluster:
    """Start the server. Unless `with_parent`, it outlives the process that starts it."""
    plain, user = directory / PLAIN_KUBECONFIG, directory / KUBECONFIG
    ready = directory / "apiserver.ready"
    ready.unlink(missing_ok=True)
    argv = processes.command(
        "apiserver",
        "--kubeconfig",
        str(user),
        "--plain-kubeconfig",
        str(plain),
        "--port",
        str(port),
        "--tls-port",
        str(tls_port),
    )
    process = processes.start_ready(
        "apiserver",
        argv,
        log=directory / "apiserver.log",
        ready=ready,
        timeout_s=READY_TIMEOUT_S,
        with_parent=with_parent,
    )
    return EmbeddedCluster(name=name, kubeconfig=plain, user_kubeconfig=user, process=process)

"""The container engine, through the docker SDK.

kind labels its containers but cannot add labels of ours, so a cluster of Flake Hunt is recognized
by the prefix of its name.
"""

import contextlib
import dataclasses
import datetime
import pathlib
import re
import socket
from collections.abc import Iterator, Sequence
from typing import Any

from harness import clocks, errors
from harness.cluster.kind import tar_archives

try:
    import docker
    import docker.errors
    import docker.utils
    import requests.exceptions
except ImportError as error:
    raise errors.MissingExtraError("the Docker SDK for Python", "kind") from error

CLUSTER_LABEL = "io.x-k8s.kind.cluster"
NETWORK = "kind"
NAME_PREFIX = "fh-"
_OF_A_RUN = re.compile(rf"{NAME_PREFIX}[0-9a-f]{{8}}(-\w+)?")
API_VERSION_MIN = (1, 41)
"""Docker 20.10: kind passes --cgroupns=private, which older engines reject."""
DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
TIMEOUT_S = 30
LOAD_TIMEOUT_S = 600
"""An engine unpacks a gigabyte without any output in between."""
_UNREACHABLE = (
    docker.errors.DockerException,
    requests.exceptions.RequestException,
    OSError,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """An engine's report about itself."""

    version: str
    api_version: tuple[int, int]
    memory_bytes: int
    cpus: int
    cgroup_version: str
    rootless: bool
    root_folder: pathlib.Path
    """Where the engine stores its data; on this host only if the engine runs here."""
    platform: str
    """Such as `linux`, or `Docker Desktop`."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A node of a kind cluster."""

    id: str
    name: str
    cluster: str
    created: datetime.datetime
    running: bool

    @property
    def is_of_a_run(self) -> bool:
        """True if the cluster's name is `fh-<run>-<worker>`.

        A cluster that a user wants to keep has a name chosen by the user.
        """
        return _OF_A_RUN.fullmatch(self.cluster) is not None


class Engine:
    """A connection to one engine. Every failure is a ClusterError with a remedy."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._client = client

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def describe(self) -> Description:
        """Return the engine's description of itself."""
        with _explained("reading the container engine's version"):
            version: dict[str, Any] = self._client.version()
            info: dict[str, Any] = self._client.info()
        options = [str(option) for option in info.get("SecurityOptions") or []]
        return Description(
            version=str(version.get("Version", "unknown")),
            api_version=_numbers(str(version.get("ApiVersion", "0.0"))),
            memory_bytes=int(info.get("MemTotal", 0)),
            cpus=int(info.get("NCPU", 0)),
            cgroup_version=str(info.get("CgroupVersion", "unknown")),
            rootless=any("name=rootless" in option.split(",") for option in options),
            root_folder=pathlib.Path(str(info.get("DockerRootDir", "/var/lib/docker"))),
            platform=str(info.get("OperatingSystem", "unknown")),
        )

    def nodes(self, cluster: str | None = None) -> list[Container]:
        """Return the containers of this kind cluster; None: of all clusters with our prefix."""
        label = CLUSTER_LABEL if cluster is None else f"{CLUSTER_LABEL}={cluster}"
        with _explained("listing containers"):
            raw = self._client.api.containers(all=True, filters={"label": [label]})
        containers = [_container(item) for item in raw]
        return [item for item in containers if cluster or item.cluster.startswith(NAME_PREFIX)]

    def remove(self, container: Container) -> None:
        """Kill and remove a container with its anonymous volumes, if it still exists."""
        with _explained(f"removing the container {container.name}"):
            try:
                self._client.api.remove_container(container.id, v=True, force=True)
            except docker.errors.NotFound:
                return
            except docker.errors.APIError as error:
                if not _is_being_removed(error):
                    raise
                self._wait_until_gone(container)

    def _wait_until_gone(self, container: Container) -> None:
        """Wait while another process removes the container; its volumes are in use until then."""
        clocks.wait_until(
            lambda: all(item.id != container.id for item in self.nodes(container.cluster)),
            timeout_s=TIMEOUT_S,
            why=f"the container {container.name} to be gone",
            interval_s=0.1,
        )

    def volumes_of(self, container: Container) -> list[str]:
        """Return the names of a container's volumes; empty if the container is gone."""
        with _explained(f"inspecting the container {container.name}"):
            try:
                mounts = self._client.api.inspect_container(container.id).get("Mounts") or []
            except docker.errors.NotFound:
                return []
        return [str(item["Name"]) for item in mounts if item.get("Type") == "volume"]

    def remove_volume(self, name: str) -> None:
        """Remove an unused volume, if it still exists."""
        with _explained(f"removing the volume {name}"), contextlib.suppress(docker.errors.NotFound):
            self._client.api.remove_volume(name, force=True)

    def networks(self) -> list[str]:
        """Return the names of all networks; names may occur twice."""
        with _explained("listing networks"):
            return [str(item.get("Name")) for item in self._client.api.networks()]

    def network_exists(self) -> bool:
        return NETWORK in self.networks()

    def has_image(self, reference: str) -> bool:
        with _explained(f"looking for the image {reference}"):
            try:
                self._client.images.get(reference)
            except docker.errors.ImageNotFound:
                return False
        return True

    def load(self, archive: pathlib.Path) -> str:
        """Load an archive of `docker save`; return the image's name, or its id if it has none."""
        with _explained(f"loading {archive}"), archive.open("rb") as stream:
            images = self._client.images.load(stream)
        if not images:
            raise errors.ClusterError(f"expected {archive} to contain an image, but it has none")
        image = images[0]
        return str(image.tags[0] if image.tags else image.id)

    def read(self, container: str, path: str) -> bytes | None:
        """Return a file of a running or stopped container; None if it does not exist."""
        with _explained(f"reading {path} of {container}"):
            try:
                chunks, _ = self._client.api.get_archive(container, path)
                packed = b"".join(chunks)
            except docker.errors.NotFound:
                return None
        return tar_archives.only_file(packed)

    def execute(self, container: str, command: Sequence[str]) -> None:
        """Run a command in a container, as `docker exec` does, and wait for its end.

        Raises ClusterError if it fails.
        """
        with _explained(f"running {command[0]} in {container}"):
            run = self._client.api.exec_create(container, list(command))["Id"]
            self._client.api.exec_start(run, detach=True)
            clocks.wait_until(
                lambda: not self._client.api.exec_inspect(run)["Running"],
                timeout_s=TIMEOUT_S,
                why=f"`{' '.join(command)}` in {container}",
            )
            exit_code = self._client.api.exec_inspect(run)["ExitCode"]
        if exit_code != 0:
            raise errors.ClusterError(
                f"expected `{' '.join(command)}` to succeed in the container {container}, but it "
                f"ended with exit code {exit_code}"
            )

    def save_folder(self, container: str, path: str, to: pathlib.Path) -> list[pathlib.Path]:
        """Copy the files of a container's folder to this folder; return their paths.

        The copies belong to this user; on the node the files are root's.
        """
        with (
            _explained(f"reading {path} of {container}"),
            contextlib.suppress(docker.errors.NotFound),
        ):
            chunks, _ = self._client.api.get_archive(container, path)
            return tar_archives.unpack(chunks, to)
        return []


def connect(*, timeout_s: float = TIMEOUT_S) -> Engine:
    """Connect to the engine of the docker command (DOCKER_HOST, or the current context)."""
    try:
        _knock(timeout_s)
        client = docker.from_env(timeout=int(timeout_s))
    except _UNREACHABLE as error:
        raise errors.ClusterError(_not_reachable(error)) from error
    return Engine(client)


def address() -> str:
    """Return the engine's address: DOCKER_HOST, the current context, or the default socket."""
    chosen = docker.utils.kwargs_from_env() or docker.ContextAPI.kwargs_from_context()
    return str(chosen.get("base_url") or DEFAULT_ADDRESS)


def _knock(timeout_s: float) -> None:
    """Raise OSError if nothing listens on the socket.

    The SDK would leave the socket open, and its message is much longer.
    """
    where = address()
    if where.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(timeout_s)
            try:
                probe.connect(where.removeprefix("unix://"))
            except OSError as error:
                raise OSError(f"{where}: {error.strerror}") from error


@contextlib.contextmanager
def connected(*, timeout_s: float = TIMEOUT_S) -> Iterator[Engine]:
    """Connect to the engine for the `with` block."""
    engine = connect(timeout_s=timeout_s)
    try:
        yield engine
    finally:
        engine.close()


@contextlib.contextmanager
def _explained(doing: str) -> Iterator[None]:
    try:
        yield
    except docker.errors.APIError as error:
        raise errors.ClusterError(
            f"{doing}: the container engine answered {error.explanation or error}"
        ) from error
    except _UNREACHABLE as error:
        raise errors.ClusterError(f"{doing}: {_not_reachable(error)}") from error


def _not_reachable(error: BaseException) -> str:
    text = str(error)
    if "Permission denied" in text or "PermissionError" in text:
        remedy = "permission denied: sudo usermod -aG docker $USER, then log in again"
    elif "no such host" in text or "Name or service not known" in text:
        remedy = "DOCKER_HOST or the docker context names an unknown host: docker context ls"
    else:
        remedy = "install Docker (docs.docker.com/engine/install), or start it: sudo systemctl start docker"
    return f"expected a container engine that responds ({text}); {remedy}"


def _container(raw: dict[str, Any]) -> Container:
    names: Sequence[str] = raw.get("Names") or [raw["Id"][:12]]
    return Container(
        id=str(raw["Id"]),
        name=str(names[0]).removeprefix("/"),
        cluster=str((raw.get("Labels") or {}).get(CLUSTER_LABEL, "")),
        created=datetime.datetime.fromtimestamp(int(raw.get("Created", 0)), tz=datetime.UTC),
        running=raw.get("State") == "running",
    )


def _is_being_removed(error: docker.errors.APIError) -> bool:
    return "is already in progress" in str(error.explanation or "")


def _numbers(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)

"""The container engine, through the docker SDK.

kind labels its containers but cannot add labels of ours, so a cluster of Flake Hunt is recognized
by the prefix of its name.
"""

import contextlib
import pathlib
import shutil
import socket
import tarfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

from harness import clocks, errors

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
DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
TIMEOUT_S = 30
LOAD_TIMEOUT_S = 600
"""An engine unpacks a gigabyte without any output in between."""
_CHUNK_BYTES = 1 << 16
_FAILED = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)


class Container(NamedTuple):
    """A node of a kind cluster."""

    id: str
    name: str
    running: bool


class Engine:
    """A connection to one engine. Every failure is a ClusterError."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._client = client

    def describe(self) -> dict[str, Any]:
        """Return its report about itself: `ServerVersion`, `MemTotal`, `CgroupVersion`, …"""
        with _explained("describing itself"):
            info: dict[str, Any] = self._client.info()
        return info

    def nodes(self, cluster: str) -> list[Container]:
        label = f"{CLUSTER_LABEL}={cluster}"
        with _explained("listing containers"):
            raw = self._client.api.containers(all=True, filters={"label": [label]})
        return [
            Container(
                id=item["Id"],
                name=(item.get("Names") or [item["Id"][:12]])[0].removeprefix("/"),
                running=item.get("State") == "running",
            )
            for item in raw
        ]

    def remove(self, container: Container) -> None:
        """Kill and remove a container with its anonymous volumes, if it still exists."""
        with _explained(f"removing the container {container.name}"):
            try:
                self._client.api.remove_container(container.id, v=True, force=True)
            except docker.errors.NotFound:
                return
            except docker.errors.APIError as error:  # else another process removes it
                if "is already in progress" not in str(error.explanation):
                    raise

    def has_network(self) -> bool:
        with _explained("listing networks"):
            return NETWORK in [item.get("Name") for item in self._client.api.networks()]

    def load(self, archive: pathlib.Path) -> str:
        """Load an archive of `docker save`; return the image's name, or its id if it has none."""
        with _explained(f"loading {archive}"), archive.open("rb") as stream:
            images = self._client.images.load(stream)
        if not images:
            raise errors.ClusterError(f"expected {archive} to contain an image, but it has none")
        return str(images[0].tags[0] if images[0].tags else images[0].id)

    def read(self, container: str, path: str) -> bytes | None:
        """Return a file of a running or stopped container; None if it does not exist."""
        found = [content.read() for _, content in self._files(container, path)]
        return found[0] if found else None

    def save_folder(self, container: str, path: str, to: pathlib.Path) -> None:
        """Copy the files of a container's folder to this folder; none: it does not exist.

        The copies belong to this user; on the node the files are root's.
        """
        for name, content in self._files(container, path):
            to.mkdir(parents=True, exist_ok=True)
            with (to / name).open("wb") as output:
                shutil.copyfileobj(content, output)

    def execute(self, container: str, command: Sequence[str]) -> None:
        words = " ".join(command)
        with _explained(f"running {command[0]} in {container}"):
            run = self._client.api.exec_create(container, list(command))["Id"]
            self._client.api.exec_start(run, detach=True)
            clocks.wait_until(
                lambda: not self._client.api.exec_inspect(run)["Running"],
                timeout_s=TIMEOUT_S,
                why=f"`{words}` in {container}",
            )
            exit_code = self._client.api.exec_inspect(run)["ExitCode"]
        if exit_code != 0:
            raise errors.ClusterError(
                f"expected `{words}` to succeed in the container {container}, but it ended with "
                f"exit code {exit_code}"
            )

    def _files(self, container: str, path: str) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield name and content of each file at a path; none if it does not exist."""
        with _explained(f"reading {path} of {container}"):
            try:
                chunks, _ = self._client.api.get_archive(container, path, _CHUNK_BYTES)
            except docker.errors.NotFound:
                return
            stream: Any = _Stream(chunks)
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    if (content := archive.extractfile(member)) is not None:
                        yield pathlib.PurePosixPath(member.name).name, content


class _Stream:
    """Chunks as a file that is read once: audit logs can be gigabytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (more := next(self._chunks, b"")):
            self._rest += more
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


@contextlib.contextmanager
def connected(*, timeout_s: float = TIMEOUT_S) -> Iterator[Engine]:
    """Connect to the engine of the docker command (DOCKER_HOST, or the current context)."""
    with _explained("connecting"):
        _knock(timeout_s)
        client = docker.from_env(timeout=int(timeout_s))
    with contextlib.closing(client):
        yield Engine(client)


def _knock(timeout_s: float) -> None:
    """Raise OSError if nothing listens; the SDK would leave the socket open."""
    chosen = docker.utils.kwargs_from_env() or docker.ContextAPI.kwargs_from_context()
    where = str(chosen.get("base_url") or DEFAULT_ADDRESS)
    if where.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(timeout_s)
            try:
                probe.connect(where.removeprefix("unix://"))
            except OSError as error:
                raise OSError(f"{where}: {error.strerror}") from error


@contextlib.contextmanager
def _explained(doing: str) -> Iterator[None]:
    try:
        yield
    except docker.errors.APIError as error:
        raise errors.ClusterError(
            f"{doing}: the container engine answered {error.explanation or error}"
        ) from error
    except _FAILED as error:
        raise errors.ClusterError(
            f"{doing}: expected a container engine that responds ({error}): install Docker "
            "(docs.docker.com/engine/install), start it, join the group docker, or name another "
            "engine in DOCKER_HOST"
        ) from error

"""A stand-in engine and a stand-in kind command for a test: a socket in DOCKER_HOST, executables in
PATH.
"""

import contextlib
import io
import json
import os
import pathlib
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from typing import Any

import docker

from harness import clocks
from harness.scenario import profiles

ROOT = pathlib.Path(__file__).parents[2]
DIGEST = "sha256:" + "5" * 64
IMAGE = f"kindest/node:v1.36.0@{DIGEST}"
NODE_IMAGE = {
    "Id": "sha256:" + "1" * 64,
    "RepoTags": ["kindest/node:v1.36.0"],
    "RepoDigests": [f"kindest/node@{DIGEST}"],
    "Kubernetes": "v1.36.0",
}


class StandIn:
    """The view of a test on both."""

    def __init__(self, folder: pathlib.Path, socket: pathlib.Path) -> None:
        self.folder, self.bin = folder, folder / "bin"
        self.host = f"unix://{socket}"

    def client(self) -> docker.DockerClient:
        return docker.DockerClient(base_url=self.host)

    def environment(self) -> dict[str, str]:
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        return {"DOCKER_HOST": self.host, "PATH": path}

    def left(self) -> dict[str, list[str]]:
        """Return objects on the engine that were not there at its start."""
        client = self.client()
        try:
            return {
                "containers": [item["Names"][0] for item in client.api.containers(all=True)],
                "volumes": [item["Name"] for item in client.api.volumes()["Volumes"]],
            }
        finally:
            client.close()

    def clear(self) -> None:
        """Remove the containers that a failed test left for the next one."""
        client = self.client()
        try:
            for item in client.api.containers(all=True):
                client.api.remove_container(item["Id"], v=True, force=True)
        finally:
            client.close()


@contextlib.contextmanager
def started(
    folder: pathlib.Path,
    *,
    images: list[dict[str, Any]] | None = None,
    describe: dict[str, Any] | None = None,
    faults: dict[str, str] | None = None,
) -> Iterator[StandIn]:
    """An engine with the node image on it, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(
        prefix="engine-"
    ) as short:  # a socket's path has 108 characters
        socket = pathlib.Path(short) / "docker.sock"
        made = StandIn(folder, socket)
        _executables(made.bin)
        process = subprocess.Popen(
            [
                *(sys.executable, str(pathlib.Path(__file__).with_name("engine.py"))),
                *("--socket", str(socket), "--folder", str(folder / "engine")),
                *("--images", json.dumps([NODE_IMAGE] if images is None else images)),
                *("--describe", json.dumps(describe or {}), "--faults", json.dumps(faults or {})),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        try:
            clocks.wait_until(socket.exists, timeout_s=30, why="the stand-in engine to listen")
            yield made
        finally:
            process.terminate()
            process.wait(30)


def profile(**changes: Any) -> profiles.KindProfile:
    document = {
        "schema_version": 1,
        "provider": "kind",
        "name": "kind-stand-in",
        "title": "the stand-in's nodes",
        "kubernetes": "v1.36.0",
        "image": IMAGE,
        "wait_s": 60,
        **changes,
    }
    return profiles.KindProfile.model_validate(document)


def profile_text() -> str:
    document = profile().model_dump(mode="json", exclude_defaults=True)
    document |= {"schema_version": 1, "provider": "kind"}
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in document.items())


def _executables(folder: pathlib.Path) -> None:
    """kind as a program; docker too, because kind needs the command to be there."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m tests.stand_ins.kind "$@"\n'
    for name, text in {"kind": kind, "docker": "#!/bin/sh\nexit 0\n"}.items():
        path = folder / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def image_archive(path: pathlib.Path) -> pathlib.Path:
    manifest = {
        "Config": f"{'1' * 64}.json",
        "RepoTags": NODE_IMAGE["RepoTags"],
        "Layers": [],
        "Kubernetes": NODE_IMAGE["Kubernetes"],
    }
    content = json.dumps([manifest]).encode()
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("manifest.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return path

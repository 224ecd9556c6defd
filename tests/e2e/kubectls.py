"""The kubectl programs of this machine, and clusters that `flake-hunt cluster up` starts for them.

Every `kubectl` and `kubectl.1.NN` on PATH and in the folders of the environment variable
KUBECTL_DIRS counts, from version 1.27 on: older ones are untested.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from harness import processes

TIMEOUT_S = 60
VERSION_MIN = (1, 27)
NONE_FOUND = "no kubectl of 1.27 or newer on PATH or in the folders of KUBECTL_DIRS"
_NAME = re.compile(r"kubectl(\.1\.\d+)?")
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels: {{app: {name}}}
spec:
  nodeName: {node}
  containers:
  - name: main
    image: none
"""


def candidates() -> list[pathlib.Path]:
    folders = [os.environ.get(name, "") for name in ("PATH", "KUBECTL_DIRS")]
    paths = [
        path
        for folder in os.pathsep.join(folders).split(os.pathsep)
        if folder and pathlib.Path(folder).is_dir()
        for path in sorted(pathlib.Path(folder).glob("kubectl*"))
    ]
    return [path for path in paths if _NAME.fullmatch(path.name) and os.access(path, os.X_OK)]


def version_of(path: pathlib.Path) -> tuple[int, int] | None:
    """(1, 33); None for what does not answer."""
    try:
        ended = subprocess.run(
            [path, "version", "--client", "--output=json"],
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        found = json.loads(ended.stdout)["clientVersion"]
        return int(found["major"]), int(found["minor"].rstrip("+"))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None


def newest() -> pathlib.Path:
    by_version = {version_of(path): path for path in candidates()}
    versions = sorted(version for version in by_version if version and version >= VERSION_MIN)
    if not versions:
        pytest.skip(NONE_FOUND)
    return by_version[versions[-1]]


class Cluster:
    """A cluster that was started with `flake-hunt cluster up`."""

    def __init__(self, home: pathlib.Path) -> None:
        self.home = home
        folders = dict.fromkeys(("XDG_STATE_HOME", "HOME", "TMPDIR"), str(home))
        self.env = {**os.environ, **folders}
        up = self.run("up", "e2e", "--nodes", "2", "--devices-per-node", "2")
        assert up.returncode == 0, up.stderr
        self.said = up.stdout
        self.kubeconfig = self.run("kubeconfig", "e2e").stdout.strip()

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            processes.command("cluster", *arguments),
            capture_output=True,
            text=True,
            env=self.env,
            timeout=TIMEOUT_S,
            check=False,
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("home"))
    yield made
    down = made.run("down", "e2e")
    assert (down.returncode, down.stdout) == (0, "Cluster 'e2e' is gone.\n")


@dataclasses.dataclass(frozen=True)
class Kubectl:
    """One kubectl in a namespace of its own."""

    path: pathlib.Path
    namespace: str
    env: dict[str, str]

    def argv(self, *arguments: str) -> list[str]:
        return [str(self.path), "--namespace", self.namespace, *arguments]

    def run(self, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.argv(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            env=self.env,
            timeout=TIMEOUT_S,
            check=False,
        )

    def ok(self, *arguments: str, stdin: str = "") -> str:
        """Return its output; fail unless it succeeded without a message on stderr."""
        ended = self.run(*arguments, stdin=stdin)
        assert (ended.returncode, ended.stderr) == (0, ""), ended
        return ended.stdout

    def fails(self, *arguments: str, stdin: str = "") -> str:
        """Return its error message; fail unless its exit code is 1."""
        ended = self.run(*arguments, stdin=stdin)
        assert ended.returncode == 1, ended
        return ended.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--output=json"))

"""One embedded cluster for a module, and the state directory of a newcomer."""

import pathlib
import tempfile
from collections.abc import Iterator

import pytest

from harness.client import apis
from harness.cluster import embedded_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded_cluster.EmbeddedCluster]:
    made = embedded_cluster.up("tests", tmp_path_factory.mktemp("cluster"))
    yield made
    made.down()


@pytest.fixture
def api(cluster: embedded_cluster.EmbeddedCluster) -> Iterator[apis.Api]:
    with apis.connected(cluster.kubeconfig) as made:
        yield made


@pytest.fixture
def state_home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def folder() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="fh-") as path:  # a short one: it has sockets
        yield pathlib.Path(path)

"""Providers: starting, answering, and leaving nothing."""

import pathlib
import socket

import pytest

from harness import errors
from harness.client import apis, transports
from harness.cluster import embedded_cluster, interfaces, providers
from harness.scenario import profiles


def test_an_embedded_cluster_comes_answers_and_goes(tmp_path: pathlib.Path) -> None:
    request = interfaces.ClusterRequest(name="one", directory=tmp_path / "new")
    cluster = providers.up(profiles.load("embedded"), request)
    assert cluster.name == "one"
    assert cluster.exit_report() is None
    for path in (cluster.kubeconfig, cluster.user_kubeconfig):
        api = apis.Api(transports.connect(path))
        assert api.get(apis.NAMESPACES, "default")["kind"] == "Namespace"
        api.transport.close()
    cluster.down()
    assert cluster.exit_report() is not None
    assert not cluster.kubeconfig.exists()
    assert not cluster.user_kubeconfig.exists()
    cluster.down()  # again is no harm


def test_a_cluster_that_cannot_start_says_why(tmp_path: pathlib.Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(errors.ProcessError, match="ended with exit code 2") as caught:
            embedded_cluster.start(
                "one",
                embedded_cluster.ServerCommand(directory=tmp_path, with_parent=True, port=port),
            )
    assert f"expected to listen on 127.0.0.1:{port}" in str(caught.value)

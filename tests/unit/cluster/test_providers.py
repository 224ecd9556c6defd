"""Providers: starting, answering, and leaving nothing."""

import pathlib
import socket

import pytest

from harness import errors
from harness.cluster import embedded_cluster


def test_a_cluster_that_cannot_start_says_why(tmp_path: pathlib.Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(errors.ProcessError, match="ended with exit code 2") as caught:
            embedded_cluster.start(
                "one",
                embedded_cluster.ServerCommand(directory=tmp_path, with_parent=True, port=port),
            )
    assert f"expected to listen on 127.0.0.1:{port}" in str(caught.value)

"""The parts of the traffic that need no Locust: what is created, and how it is started."""

import contextlib
import itertools
import socket
import subprocess
import sys

import pytest
import zmq

from harness.cluster import loopback_ports
from harness.scenario import loading
from harness.traffic import launching, locust_process, objects


def test_starting_the_traffic_imports_neither_locust_nor_gevent() -> None:
    code = (
        "import sys, harness.traffic.launching, harness.traffic.objects\n"
        "sys.exit(bool({'locust', 'gevent'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_line_says_everything_that_a_config_file_might() -> None:
    traffic = loading.load("pod-churn").scenario.traffic
    command = launching.command(traffic)
    options = dict(itertools.pairwise(command))
    assert options["--processes"] == "2"
    assert options["--users"] == options["--spawn-rate"] == "48"
    assert options["--master-bind-host"] == "127.0.0.1"
    assert int(options["--stop-timeout"]) > 0


def test_the_port_of_local_workers_is_kept_until_the_master_listens() -> None:
    """Another program that is given a port, or asks for this one, does not get it."""
    with locust_process.local_port() as added, contextlib.ExitStack() as others:
        options = dict(itertools.pairwise(added))
        port = options["--master-bind-port"]
        assert options["--master-port"] == port
        given = [others.enter_context(loopback_ports.keeper()) for _ in range(500)]
        assert int(port) not in [other.getsockname()[1] for other in given]
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", int(port)))
        with zmq.Context() as context, context.socket(zmq.ROUTER) as master:
            master.bind(f"tcp://127.0.0.1:{port}")  # as Locust's master does


def test_pods_with_an_extended_resource_name_no_claim() -> None:
    """Both amounts, as the API demands that they are equal."""
    use = objects.uses_extended("example.com/gpu", 2)
    spec = objects.pod("p", use, run_id="r", scheduler="s")["spec"]
    amounts = {"example.com/gpu": "2"}
    assert spec["containers"][0]["resources"] == {"requests": amounts, "limits": amounts}
    assert "resourceClaims" not in spec

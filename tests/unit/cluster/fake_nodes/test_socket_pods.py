"""Pods whose claims are prepared by drivers behind sockets: what they find and are told."""

import json
import pathlib
from collections.abc import Iterator

import pytest

from harness import clocks
from harness.client import apis
from harness.cluster import embedded_cluster
from harness.history import records
from tests.support import driver_servers, pod_worlds
from tests.support.pod_worlds import TIMEOUT_S, World

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture
def world(
    cluster: embedded_cluster.EmbeddedCluster,
    api: apis.Api,
    tmp_path: pathlib.Path,
    folder: pathlib.Path,
) -> Iterator[World]:
    with pod_worlds.made(cluster, api, tmp_path) as made:
        made.registry, made.cdi = f"{folder}/registry", f"{folder}/cdi"
        write_cdi(folder)
        yield made


@pytest.fixture
def driver(folder: pathlib.Path) -> Iterator[driver_servers.DriverServer]:
    server = driver_servers.DriverServer(folder)
    yield server
    server.stop()


def write_cdi(folder: pathlib.Path) -> None:
    (folder / "cdi").mkdir()
    device = {"name": "d", "containerEdits": {"env": ["device=d"]}}
    document = {"cdiVersion": "0.3.0", "kind": "v/c", "devices": [device]}
    (folder / "cdi" / "v.json").write_text(json.dumps(document))


def calls(driver: driver_servers.DriverServer) -> list[str]:
    return [method for _, method, _ in driver.calls]


def test_a_container_finds_what_the_cdi_ids_of_the_answer_say(
    world: World, driver: driver_servers.DriverServer
) -> None:
    world.start()
    world.run("p")
    started = [r for r in world.journal() if isinstance(r, records.ContainerStarted)]
    assert [record.environment for record in started] == [{"device": "d"}]
    world.delete("p")
    world.wait_gone("p")
    assert calls(driver) == ["prepare", "unprepare"]


def test_a_pod_without_its_driver_is_told_so_and_runs_when_it_comes(
    world: World, folder: pathlib.Path
) -> None:
    world.start()
    world.pod("p")
    world.wait_message("p", "DRA driver gpu.example is not registered")
    server = driver_servers.DriverServer(folder)
    world.wait_running("p")
    server.stop()


def test_a_device_that_no_file_has_is_told(
    world: World, driver: driver_servers.DriverServer, folder: pathlib.Path
) -> None:
    (folder / "cdi" / "v.json").unlink()
    world.start()
    world.pod("p")
    world.wait_message("p", "unresolvable CDI device v/c=d: no file in")
    write = folder / "cdi"
    write.rmdir()
    write_cdi(folder)
    world.wait_running("p")
    assert set(calls(driver)) == {"prepare"}


def test_a_kubelet_and_a_driver_that_are_started_again_know_each_other(
    world: World, driver: driver_servers.DriverServer
) -> None:
    world.start()
    world.run("p")
    world.stop()
    driver.stop()
    world.start()
    world.delete("p")  # its claim is noted, but its driver is not there
    clocks.wait_until(
        lambda: any(
            (record.call, record.reason) == ("unprepare", "NotRegistered")
            for record in world.told(records.PrepareFailed, "claim-of-p")
        ),
        timeout_s=TIMEOUT_S,
        why="the claim to be kept",
    )
    assert not world.is_gone("p")
    driver.start()
    world.wait_gone("p")
    assert calls(driver) == ["prepare", "unprepare"]

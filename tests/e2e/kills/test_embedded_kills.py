"""The embedded API server killed five times under load, with a recorder: nothing that was
acknowledged is lost, and the record has no gap.
"""

import itertools
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from harness import clocks, processes
from harness.client import apis, kubeconfig_files, transports
from harness.cluster import interfaces, providers
from harness.history import directories, journal_reader, records
from harness.scenario import profiles
from tests.support import recorder_directories

KILLS = 5
WRITERS = 3
WRITES_BETWEEN = 30
TIMEOUT_S = 60
NAMESPACE = "default"
pytestmark = [pytest.mark.e2e, pytest.mark.slow]


class Writer(threading.Thread):
    """Creates leases; goes on with another name when the outcome of a create is unknown."""

    def __init__(self, kubeconfig: pathlib.Path, prefix: str) -> None:
        super().__init__(daemon=True)
        self._api = apis.Api(transports.connect(kubeconfig))
        self._prefix = prefix
        self.acknowledged: dict[str, int] = {}
        self.stopping = threading.Event()

    def run(self) -> None:
        for number in itertools.count():
            if self.stopping.is_set():
                break
            self._create(f"{self._prefix}-{number}")
        self._api.transport.close()

    def _create(self, name: str) -> None:
        lease = {"metadata": {"name": name}, "spec": {"holderIdentity": self._prefix}}
        try:
            made = self._api.create(apis.LEASES, lease, namespace=NAMESPACE)
        except transports.TransportError:
            clocks.sleep(0.01)  # it is down
            return
        self.acknowledged[name] = int(made["metadata"]["resourceVersion"])


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[interfaces.Cluster]:
    profile = profiles.load("embedded", overrides=["storage=disk"])
    request = interfaces.ClusterRequest(name="kills", directory=tmp_path / "cluster")
    made = providers.up(profile, request)
    yield made
    made.down()


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    plan = recorder_directories.plan("leases", namespace=NAMESPACE)
    return recorder_directories.create(tmp_path / "run", plan)


@pytest.fixture
def recorder(
    cluster: interfaces.Cluster, directory: directories.RunDirectory, tmp_path: pathlib.Path
) -> Iterator[processes.Process]:
    kubeconfig = kubeconfig_files.write_for_client(cluster.kubeconfig, client="recorder")
    argv = ("part", "record", "--kubeconfig", str(kubeconfig), str(directory.path))
    process = processes.start_ready(
        "recorder",
        processes.command(*argv),
        log=tmp_path / "recorder.log",
        ready=tmp_path / "recorder.ready",
        timeout_s=TIMEOUT_S,
    )
    yield process
    process.kill()


def test_five_kills_under_load_leave_no_gap_in_the_record(
    cluster: interfaces.Cluster,
    directory: directories.RunDirectory,
    recorder: processes.Process,
) -> None:
    writers = [Writer(cluster.kubeconfig, f"w{number}") for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for number in range(KILLS):
        wait_for_watches(directory, number + 1)
        wait_for_writes(writers)
        cluster.restart_api_server(kill=True, down_s=0.05)
    wait_for_writes(writers)
    for writer in writers:
        writer.stopping.set()
        writer.join(TIMEOUT_S)
    assert recorder.stop(timeout_s=TIMEOUT_S) == 0
    found = journal_reader.read(directory.observations).records
    assert not [record for record in found if isinstance(record, records.Gap)]
    assert cluster.exit_report() is None
    check_record(found, {n: v for writer in writers for n, v in writer.acknowledged.items()})


def wait_for_watches(directory: directories.RunDirectory, count: int) -> None:
    """Wait until the recorder has opened its watch for the n-th time."""

    def is_open() -> bool:
        found = journal_reader.read(directory.observations).records
        return sum(isinstance(record, records.Resumed) for record in found) >= count

    clocks.wait_until(is_open, timeout_s=TIMEOUT_S, why="the recorder's watch")


def wait_for_writes(writers: list[Writer]) -> None:
    def count() -> int:
        return sum(len(writer.acknowledged) for writer in writers)

    enough = count() + WRITES_BETWEEN
    clocks.wait_until(lambda: count() >= enough, timeout_s=TIMEOUT_S, why="writes")


def check_record(found: list[Any], acknowledged: dict[str, int]) -> None:
    """Check that each write was observed once, in the order of the versions, and has stayed."""
    events = [
        record
        for record in found
        if isinstance(record, records.Observation) and record.type == "ADDED"
    ]
    versions = [record.resource_version for record in events]
    assert versions == sorted(set(versions))
    observed = {name_of(record): record.resource_version for record in events}
    assert {name: observed.get(name) for name in acknowledged} == acknowledged
    final = {
        name_of(record)
        for record in found
        if isinstance(record, records.Observation) and record.type == "FINAL"
    }
    assert final >= set(observed)


def name_of(record: records.Observation) -> str:
    name: str = msgspec.json.decode(record.object)["metadata"]["name"]
    return name

"""Claims that another writer moves to other devices, on a real embedded API server."""

import pathlib
from collections.abc import Iterator

import pytest

from harness import concurrency, errors
from harness.client import apis, transports
from harness.cluster import embedded_cluster
from harness.cluster.fake_nodes import fake_world
from harness.cluster.interfaces import Capabilities
from harness.history import journal_reader, plans, records
from harness.model.objects import Object
from harness.run.faulting import claim_moving, fault_journal
from harness.scenario import pool_specs

NAMESPACE = "flake-hunt-moving"
POOLS = pool_specs.PoolsSpec(nodes=1, devices_per_node=3)


class Ending:
    """A fault that lasts until its work is done."""

    is_abandoned = False

    def __init__(self) -> None:
        self.over, self.load_begun = concurrency.Event("over"), concurrency.Event("begun")


@pytest.fixture
def api(tmp_path: pathlib.Path) -> Iterator[apis.Api]:
    cluster = embedded_cluster.up("moving", tmp_path)
    transport = transports.connect(cluster.kubeconfig)
    api = apis.Api(transport)
    fake_world.publish(
        api, POOLS, namespace=NAMESPACE, run_id="moving", admin=False, on=Capabilities()
    )
    yield api
    transport.close()
    cluster.down()


def allocate(api: apis.Api, name: str, device: str, *, reserved: bool = True) -> Object:
    request = {"name": "device", "exactly": {"deviceClassName": POOLS.device_class.name}}
    claim = api.create(
        apis.CLAIMS,
        {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}},
        namespace=NAMESPACE,
    )
    result = {"request": "device", "driver": POOLS.driver, "pool": "worker-0", "device": device}
    user = {"resource": "pods", "name": "pod", "uid": "uid"}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [user] if reserved else [],
    }
    return api.update_status(apis.CLAIMS, {**claim, "status": status})


def move(api: apis.Api, folder: pathlib.Path, *, times: int) -> list[records.FaultApplied]:
    fault = plans.PlannedFault(
        name="moved",
        kind="reallocate-claims",
        carrier="run",
        text="Claims are moved.",
        parameters={"times": times, "interval_s": 0.01},
    )
    path = folder / "faults.jsonl"
    journal = fault_journal.FaultJournal(path, run_id="moving")
    moving = claim_moving.ClaimMoving(fault, apis.Api(api.transport), journal, namespace=NAMESPACE)
    try:
        moving.last(Ending())
    finally:
        journal.close()
    found = journal_reader.read(path).records
    return [item for item in found if isinstance(item, records.FaultApplied)]


def device_of(api: apis.Api, name: str) -> str:
    claim = api.get(apis.CLAIMS, name, namespace=NAMESPACE)
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert claim["status"]["reservedFor"], "the reservation stays"
    return str(result["device"])


def test_the_newest_claim_is_moved_to_the_last_free_device(
    api: apis.Api, tmp_path: pathlib.Path
) -> None:
    allocate(api, "old", "worker-0-device-000")
    before = allocate(api, "new", "worker-0-device-001")
    (moved,) = move(api, tmp_path, times=1)
    assert device_of(api, "old") == "worker-0-device-000"
    assert device_of(api, "new") == "worker-0-device-002"
    assert (moved.name, moved.namespace, moved.detail) == (
        "new",
        NAMESPACE,
        "the claim was moved to worker-0-device-002",
    )
    now = api.get(apis.CLAIMS, "new", namespace=NAMESPACE)["metadata"]
    assert moved.resource_version == int(now["resourceVersion"])
    assert moved.resource_version >= int(before["metadata"]["resourceVersion"]) + 2, "two writes"


def test_what_is_not_in_use_or_has_no_other_device_stays(
    api: apis.Api, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allocate(api, "unused", "worker-0-device-000", reserved=False)
    ending = Ending()
    ending.over.set()
    monkeypatch.setattr("tests.unit.run.faulting.test_claim_moving.Ending", lambda: ending)
    with pytest.raises(errors.FaultError, match="no claim could be moved"):
        move(api, tmp_path, times=1)

"""Other clients that move claims to other devices, or change objects."""

import pathlib

import msgspec
import pytest

from harness import concurrency
from harness.client import apis
from harness.cluster.fake_nodes import fake_world
from harness.cluster.interfaces import Capabilities
from harness.history import records
from harness.model.objects import Object
from harness.run.faulting import injecting, object_faults
from harness.scenario import pool_specs
from tests.support import local_servers
from tests.unit.run.faulting import fake_parts

NAMESPACE = "ns"
POOLS = pool_specs.PoolsSpec(nodes=1, devices_per_node=4)


@pytest.fixture
def api() -> apis.Api:
    api = apis.Api(local_servers.LocalServer())
    fake_world.publish(api, POOLS, namespace=NAMESPACE, run_id="r", admin=False, on=Capabilities())
    return api


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


def move(
    api: apis.Api, folder: pathlib.Path, ending: injecting.Ending | None = None
) -> tuple[list[records.FaultApplied], str]:
    fault = fake_parts.fault("moved", "reallocate-claims", times=1, interval_s=0.01)
    applied, window = fake_parts.injected(fake_parts.stage(folder, api=api), fault, ending)
    assert window.applied_count == len(applied)
    return applied, window.error


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
    (moved,), _ = move(api, tmp_path)
    assert device_of(api, "old") == "worker-0-device-000"
    assert device_of(api, "new") == "worker-0-device-003"
    assert (moved.name, moved.namespace, moved.detail) == (
        "new",
        NAMESPACE,
        "the claim was moved to worker-0-device-003",
    )
    now = api.get(apis.CLAIMS, "new", namespace=NAMESPACE)["metadata"]
    assert (moved.resource_version, moved.uid) == (int(now["resourceVersion"]), now["uid"])
    assert moved.resource_version >= int(before["metadata"]["resourceVersion"]) + 2, "two writes"


def test_what_is_not_in_use_or_is_being_deleted_stays(
    api: apis.Api, tmp_path: pathlib.Path
) -> None:
    allocate(api, "used", "worker-0-device-000")
    allocate(api, "going", "worker-0-device-001")
    api.patch(apis.CLAIMS, "going", {"metadata": {"finalizers": ["x/y"]}}, namespace=NAMESPACE)
    api.delete(apis.CLAIMS, "going", namespace=NAMESPACE)
    allocate(api, "unused", "worker-0-device-002", reserved=False)
    (moved,), _ = move(api, tmp_path)
    assert (moved.name, device_of(api, "used")) == ("used", "worker-0-device-003")
    assert device_of(api, "going") == "worker-0-device-001"


def test_without_a_free_device_no_claim_is_moved(api: apis.Api, tmp_path: pathlib.Path) -> None:
    for number in range(4):
        allocate(api, f"c-{number}", f"worker-0-device-00{number}")
    ending = injecting.Ending()
    concurrency.spawn("over", lambda: (ending.over.wait(0.1), ending.over.set()))
    assert "no claim could be moved" in move(api, tmp_path, ending)[1]


def test_objects_are_touched_one_after_the_other(api: apis.Api, tmp_path: pathlib.Path) -> None:
    for name in "ab":
        allocate(api, name, f"worker-0-device-00{'ab'.index(name)}")
    keys = {"resource": "resourceclaims", "rate_per_s": 100, "duration_s": 0.2}
    stage = fake_parts.stage(tmp_path, api=api)
    applied, window = fake_parts.injected(stage, fake_parts.fault("f", "touch-objects", **keys))
    assert (window.error, window.applied_count) == ("", len(applied))
    assert 2 <= len(applied) <= 21
    assert [item.name for item in applied[:4]] == ["a", "b", "a", "b"][: len(applied)]
    last = api.get(apis.CLAIMS, applied[-1].name, namespace=NAMESPACE)["metadata"]
    assert last["annotations"][object_faults.ANNOTATION] == str(len(applied))
    assert (applied[-1].uid, applied[-1].namespace) == (last["uid"], NAMESPACE)
    assert applied[-1].resource_version == int(last["resourceVersion"])


@pytest.mark.parametrize("drawn_by", ["", "nemesis"])
def test_a_fault_that_changes_nothing_is_an_error_unless_a_nemesis_has_drawn_it(
    tmp_path: pathlib.Path, drawn_by: str
) -> None:
    fault = fake_parts.fault("touched", "touch-objects", resource="pods", duration_s=0.1)
    fault = msgspec.structs.replace(fault, drawn_by=drawn_by)
    server = local_servers.LocalServer()
    server.refuse("GET", "pods", status=503)
    stage = fake_parts.stage(tmp_path, api=apis.Api(server))
    error = fake_parts.injected(stage, fault)[1].error
    assert ("no object could be changed" in error) is (drawn_by == "")

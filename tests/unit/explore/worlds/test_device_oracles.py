"""The oracle of granted devices: allocations are what was asked for, of devices that are there."""

from typing import Any

import msgspec
import pytest

from harness.apiserver.storage import watch_cache
from harness.explore.worlds import world_fixtures
from harness.explore.worlds.oracles import device_oracles, states

Object = dict[str, Any]


def judged(*documents: Object) -> str | None:
    oracle, known = device_oracles.GrantedDevices(), states.Known()
    for added in world_fixtures.past(list(documents)).objects:
        see(oracle, known, added)
    return oracle.finding


def see(
    oracle: device_oracles.GrantedDevices, known: states.Known, commit: watch_cache.Commit
) -> None:
    if (seen := known.see(commit)) is not None:
        oracle.on_seen(seen)


def allocated(claim: Object, *devices: str, **result: Any) -> Object:
    status = world_fixtures.allocated("")
    [row] = status["allocation"]["devices"]["results"]
    rows = [{**row, "device": device, **result} for device in devices]
    status["allocation"]["devices"]["results"] = rows
    return {**claim, "status": status}


POOL = world_fixtures.pool(world_fixtures.devices(2))
TAINTED = world_fixtures.pool(
    [{"name": "device-0", "taints": [{"key": "worn", "effect": "NoSchedule"}]}]
)
ELSEWHERE = world_fixtures.pool(world_fixtures.devices(1), name="worker-1")
NONE = [{"cel": {"expression": "device.driver == 'none.example'"}}]


def claim(*devices: str, asking: Object | None = None, **result: Any) -> Object:
    return allocated(world_fixtures.claim("a", **(asking or {})), *devices, **result)


def test_what_was_asked_for_is_right() -> None:
    assert judged(POOL, allocated(world_fixtures.claim("claim-1"), "device-0")) is None


@pytest.mark.parametrize(
    ("documents", "kind"),
    [
        ([POOL, claim("device-9")], "gone:"),
        ([POOL, claim("device-0", asking={"count": 2})], "asked:"),
        ([POOL, claim("device-0", "device-0", asking={"count": 2})], "twice:"),
        (
            [world_fixtures.namespace(is_admin=True), POOL, claim("device-0", adminAccess=True)],
            "admin:",
        ),
        ([TAINTED, claim("device-0")], "taint:"),
        ([ELSEWHERE, claim("device-0", pool="worker-1")], "place:"),
        ([POOL, claim("device-0", asking={"selectors": NONE})], "selected:"),
    ],
)
def test_what_was_not_asked_for_is_found(documents: list[Object], kind: str) -> None:
    finding = judged(*documents)
    assert finding is not None
    assert finding.partition(" ")[0] == kind


def test_a_finding_names_the_nodes() -> None:
    finding = judged(ELSEWHERE, claim("device-0", pool="worker-1"))
    assert finding == "place: device-0 of a is on worker-1, not worker-0"


def test_what_was_gone_at_the_last_rest_is_not_allocated_any_more() -> None:
    oracle, known = device_oracles.GrantedDevices(), states.Known()
    past = world_fixtures.past([POOL, allocated(world_fixtures.claim("claim-1"), "device-0")])
    [pool, claim] = [one for one in past.objects if one.resource.plural.startswith("resource")]
    see(oracle, known, pool)
    see(oracle, known, msgspec.structs.replace(pool, type="DELETED"))
    oracle.rested()
    see(oracle, known, claim)
    assert oracle.finding == "gone: claim-1 got device-0, which is in no slice"

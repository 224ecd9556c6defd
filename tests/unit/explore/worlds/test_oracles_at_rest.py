"""Oracles of worlds at rest: which pods could run, and what is left behind."""

import dataclasses
from typing import Any

import pytest

from harness.explore.worlds import world_fixtures
from harness.explore.worlds.oracles import leftovers, runnable_pods, states

Object = dict[str, Any]
KIND = "gpu.example/kind"


def identified(document: Object, uid: str) -> Object:
    return {**document, "metadata": {**document["metadata"], "uid": uid}}


def kinds(*values: str) -> list[Object]:
    listed = world_fixtures.devices(len(values))
    pairs = zip(listed, values, strict=True)
    return [{**item, "attributes": {KIND: {"string": value}}} for item, value in pairs]


def counted(*amounts: int) -> list[Object]:
    def consumed(amount: int) -> list[Object]:
        return [{"counterSet": "whole", "counters": {"memory": {"value": str(amount)}}}]

    pairs = zip(world_fixtures.devices(len(amounts)), amounts, strict=True)
    return [{**item, "consumesCounters": consumed(amount)} for item, amount in pairs]


def counters(total: int) -> Object:
    found = world_fixtures.pool([], slice_name="counters")
    declared = [{"name": "whole", "counters": {"memory": {"value": str(total)}}}]
    return {**found, "spec": {**found["spec"], "sharedCounters": declared}}


def of_two_slices(*slices: Object) -> list[Object]:
    pool = {"name": world_fixtures.NODE, "generation": 1, "resourceSliceCount": 2}
    return [{**item, "spec": {**item["spec"], "pool": pool}} for item in slices]


def claim(*requests: Object, **devices: Any) -> Object:
    listed = [
        {"name": f"request-{number}", "exactly": request} for number, request in enumerate(requests)
    ]
    return {**world_fixtures.claim("claim-1"), "spec": {"devices": {"requests": listed, **devices}}}


def state(
    devices: list[Object], wanted: Object, *others: Object, slices: list[Object] | None = None
) -> states.State:
    return states.State(
        pods=[identified(world_fixtures.pod("pod-1", "claim-1"), "pod-uid")],
        claims=[wanted, *others],
        slices=[world_fixtures.pool(devices)] if slices is None else slices,
        nodes=[world_fixtures.node()],
    )


HOLDER = {**world_fixtures.claim("other"), "status": world_fixtures.allocated("device-0")}
TAINTED = [{"name": "device-0", "taints": [{"key": "worn", "effect": "NoSchedule"}]}]
SHARED = [
    {
        "name": "device-0",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "10"}},
    }
]


def share(memory: int) -> Object:
    return {"capacity": {"requests": {"memory": str(memory)}}}


def selector(value: str) -> list[Object]:
    return [{"cel": {"expression": f"device.attributes['gpu.example'].kind == '{value}'"}}]


ONE_WHOLE = world_fixtures.devices(1)
RUNNABLE = {
    "a free device": state(ONE_WHOLE, claim({})),
    "another one is free": state(world_fixtures.devices(2), claim({}), HOLDER),
    "admin access to a device in use": state(ONE_WHOLE, claim({"adminAccess": True}), HOLDER),
    "two that match, the second and the third": state(
        kinds("y", "x", "x"), claim({"count": 2}, constraints=[{"matchAttribute": KIND}])
    ),
    "three that differ": state(
        kinds("x", "y", "x", "z"), claim({"count": 3}, constraints=[{"distinctAttribute": KIND}])
    ),
    "all of a kind": state(
        kinds("x", "y"), claim({"allocationMode": "All", "selectors": selector("x")})
    ),
    "a taint that is tolerated": state(
        TAINTED, claim({"tolerations": [{"key": "worn", "operator": "Exists"}]})
    ),
    "a share": state(SHARED, claim(share(4))),
    "counters for two": state(
        [],
        claim({"count": 2}),
        slices=of_two_slices(counters(10), world_fixtures.pool(counted(8, 8, 2))),
    ),
}
WAITING = {
    "the device is in use": state(ONE_WHOLE, claim({}), HOLDER),
    "there are not as many": state(ONE_WHOLE, claim({"count": 2})),
    "one device for two requests": state(ONE_WHOLE, claim({}, {})),
    "one device with admin access twice": state(
        ONE_WHOLE, claim({"adminAccess": True}, {"adminAccess": True})
    ),
    "none match": state(
        kinds("x", "y"), claim({"count": 2}, constraints=[{"matchAttribute": KIND}])
    ),
    "two alike": state(
        kinds("x", "y", "x"), claim({"count": 3}, constraints=[{"distinctAttribute": KIND}])
    ),
    "none selected": state(kinds("x"), claim({"selectors": selector("y")})),
    "all of none": state(kinds("x"), claim({"allocationMode": "All", "selectors": selector("y")})),
    "all, and one is in use": state(
        world_fixtures.devices(2), claim({"allocationMode": "All"}), HOLDER
    ),
    "a taint": state(TAINTED, claim({})),
    "shares of more than there is": state(SHARED, claim(share(11))),
    "counters for one": state(
        [],
        claim({"count": 2}),
        slices=of_two_slices(counters(10), world_fixtures.pool(counted(8, 8))),
    ),
    "an incomplete pool": state(
        [], claim({}), slices=of_two_slices(world_fixtures.pool(ONE_WHOLE))
    ),
    "no claim": state(ONE_WHOLE, world_fixtures.claim("another")),
}


@pytest.mark.parametrize("case", RUNNABLE)
def test_a_pod_that_could_run_is_stuck(case: str) -> None:
    assert runnable_pods.stuck(RUNNABLE[case]) == "stuck: pod-1 could run on worker-0"


@pytest.mark.parametrize("case", WAITING)
def test_a_pod_that_cannot_run_may_wait(case: str) -> None:
    assert runnable_pods.stuck(WAITING[case]) is None


def test_pods_of_other_schedulers_may_wait() -> None:
    found = dataclasses.replace(RUNNABLE["a free device"], schedulers=("another",))
    assert runnable_pods.stuck(found) is None


def reserved(uid: str, **metadata: Any) -> Object:
    user = {"resource": "pods", "name": "pod-1", "uid": uid}
    found = world_fixtures.claim("claim-1")
    status = world_fixtures.allocated("device-0", [user])
    return {**found, "metadata": {**found["metadata"], **metadata}, "status": status}


def test_a_reservation_of_a_pod_that_is_gone_is_left() -> None:
    finding = leftovers.of_controller(state(ONE_WHOLE, reserved("gone")))
    assert finding == "leaked: claim-1 is reserved for pod-1, which has ended"
    assert leftovers.of_controller(state(ONE_WHOLE, reserved("pod-uid"))) is None


@pytest.mark.parametrize(
    ("named", "changes", "is_left"),
    [
        ("claim-1", {}, True),
        ("another", {}, False),
        ("another", {"status": world_fixtures.allocated("device-0")}, True),
    ],
)
def test_a_claim_for_extended_resources_is_left_by_a_pod_that_has_ended(
    named: str, changes: Object, is_left: bool
) -> None:
    made = {**world_fixtures.claim("claim-1"), **changes}
    made["metadata"]["ownerReferences"] = [{"name": "pod-1", "uid": "pod-uid"}]
    made["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    found = state(ONE_WHOLE, made)
    [pod] = found.pods
    pod["status"] = {
        "phase": "Succeeded",
        "extendedResourceClaimStatus": {"resourceClaimName": named},
    }
    finding = leftovers.of_controller(found)
    expected = "leaked: claim-1 is there, but its pod pod-1 has ended"
    assert finding == (expected if is_left else None)


def test_an_entry_without_a_claim_is_left_out() -> None:
    pod = identified(world_fixtures.pod_of_template("pod-1"), "pod-uid")
    found = states.State(pods=[pod], claims=[], slices=[], nodes=[])
    assert leftovers.without_claims(found) == "entry: device of pod-1 has no claim that is there"


@pytest.mark.parametrize(("entry", "finding"), [("device", None), ("other", "entry: device of")])
def test_an_entry_has_the_claim_that_was_made_for_it(entry: str, finding: str | None) -> None:
    pod = identified(world_fixtures.pod_of_template("pod-1"), "pod-uid")
    pod["status"] = {"resourceClaimStatuses": [{"name": "device", "resourceClaimName": "made"}]}
    made = world_fixtures.claim("made")
    made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": entry}
    found = states.State(pods=[pod], claims=[made], slices=[], nodes=[])
    assert (leftovers.without_claims(found) or "").startswith(finding or "")
    assert (leftovers.without_claims(found) is None) == (finding is None)


def test_a_bound_pod_without_its_extended_claim_is_told() -> None:
    pod = world_fixtures.pod("pod-1")
    pod["spec"]["nodeName"] = world_fixtures.NODE
    found = states.State(pods=[pod], claims=[], slices=[], nodes=[])
    assert leftovers.of_extended_pods(found) == "extended: pod-1 runs without its devices"

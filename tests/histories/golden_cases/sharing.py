"""Golden run directories for the checks of how claims share devices, schedulers and places."""

from collections.abc import Sequence

from harness.history import plans
from tests.histories import recording, worlds
from tests.histories.golden_cases.case import Case, cases
from tests.histories.golden_cases.words import NODE, Object, claim, pod, settings, step

# ------------------------------------------------------------------------------------ exclusivity

EXCLUSIVITY = [
    Case(check="device_exclusivity", name="VALID", text="a+D1 a^p p* a-D1 b+D1 b^q q*"),
    Case(check="device_exclusivity", name="INVALID", text="a+D1 a^p p* b+D1 b^q q* a-D1"),
    Case(check="device_exclusivity", name="INVALID-after-its-end", text="a+D1 b+D1 a~ b~"),
    Case(check="device_exclusivity", name="UNKNOWN-admin-access", text="a+D1! a^p p* b+D1!"),
    Case(check="device_exclusivity", name="UNKNOWN-gap", text="a+D1 a^p p* [ a-D1 b+D1 ] q*"),
]

# ------------------------------------------------------------------------------------ consumption

SHARED = settings(pools={"more": [{"name": "shared", "shared": {"memory": "4Gi"}}]})
MEMORY = {"name": "d1", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "4Gi"}}}


def shared_node() -> recording.Commit:
    """A node whose device 1 can be shared."""
    value = worlds.devices_of("n", 4)
    value["spec"]["devices"][1] = MEMORY
    return recording.piece(value)


def share(name: str, memory: int) -> recording.Commit:
    """A claim with a share of device 1."""
    asked = {"requests": {"memory": f"{memory}Gi"}}
    value = worlds.claim(name, worlds.device("n", 1), capacity=asked)
    [result] = value["status"]["allocation"]["devices"]["results"]
    result |= {"shareID": f"share-of-{name}", "consumedCapacity": {"memory": f"{memory}Gi"}}
    return recording.claim(value)


CONSUMPTION = cases(
    "device_consumption",
    "commits",
    {
        "VALID": [shared_node(), claim("a", "0"), share("b", 2), share("c", 2)],
        "INVALID": [shared_node(), claim("a", "0"), share("b", 3), share("c", 2)],
        "UNKNOWN-no-share": [shared_node(), claim("a", "0")],
    },
    plan=SHARED,
)

# ----------------------------------------------------------------------------- several schedulers

TWO = settings(subject={"schedulers": [{"scheduler_name": "one"}, {"scheduler_name": "two"}]})


def allocated_by(process: str, name: str, device: str) -> Sequence[recording.Commit]:
    value = worlds.claim(name, worlds.device("n", int(device)))
    manager = {
        "manager": f"flake-hunt-{process}",
        "subresource": "status",
        "fieldsV1": {"f:status": {"f:allocation": {}}},
    }
    value["metadata"]["managedFields"] = [manager]
    return recording.claim(worlds.claim(name)), recording.claim(value)


SCHEDULERS = cases(
    "scheduler_exclusivity",
    "commits",
    {
        "VALID": [*allocated_by("scheduler", "a", "0"), *allocated_by("scheduler-2", "b", "1")],
        "INVALID": [*allocated_by("scheduler-2", "a", "0"), *allocated_by("scheduler-2", "b", "0")],
        "UNKNOWN-nothing-allocated": [claim("a"), pod("p", claim="a")],
    },
    plan=TWO,
)

# ----------------------------------------------------------------------------------- reservations

RESERVED: Object = {
    "requirements": plans.Requirements(
        allocations_min=0, pods_running_min=0, reservations_min=2, examined=["claim_reservations"]
    )
}


def shared_by(count: int) -> Sequence[recording.Commit]:
    names = [f"p{index}" for index in range(count)]
    users = [pod(name, claim="a") for name in names]
    return [NODE, claim("a", "0"), *users, claim("a", "0", users=names)]


RESERVATIONS = cases(
    "claim_reservations",
    "commits",
    {"VALID": shared_by(2), "INVALID": shared_by(257), "UNKNOWN-none": shared_by(0)},
    plan=RESERVED,
)

# ----------------------------------------------------------------------------------------- taints

TAINTED: Object = {
    "settings": {
        "pools": {"changes": [{"kind": "taint"}]},
        "subject": {"schedulers": [{"scheduler_name": "one"}]},
    }
}


def of_taint(effect: str) -> recording.Commit:
    """A node whose devices have a taint."""
    return recording.piece(worlds.devices_of("n", 4, taints=[{"key": "broken", "effect": effect}]))


TAINTED_NODE = of_taint("NoSchedule")
PLANNED = [
    step(2, "slice-tracker.handled", of="slices", version=2),
    step(3, "scheduling.started"),
    step(4, "in-flight.added", claim="uid-a", device=worlds.device("n", 0)),
]
TAINTS = [
    Case(
        check="tainted_devices",
        name=name,
        commits=[*slices, claim("a"), claim("a", "0")],
        plan=TAINTED,
        steps=steps,
    )
    for name, slices, steps in (
        ("VALID", [TAINTED_NODE, NODE], PLANNED),
        ("INVALID", [NODE, TAINTED_NODE], PLANNED),
        ("UNKNOWN-no-steps", [TAINTED_NODE, NODE], ()),
    )
]

EVICTING: Object = {
    "settings": {
        "pools": {"changes": [{"kind": "taint", "effect": "NoExecute"}]},
        "subject": {"claim_controller": "python"},
    },
    "requirements": plans.Requirements(
        allocations_min=0, pods_running_min=0, reservations_min=0, examined=["evicted_pods"]
    ),
    "resources": ["resourceclaims", "pods", "resourceslices"],
}


def evicted(name: str, *, deleting: bool = False) -> recording.Commit:
    """A pod that is to be deleted because of a taint."""
    value = worlds.pod(name, claim="a", node="n", deleting=deleting)
    condition = {"type": "DisruptionTarget", "status": "True"}
    value["status"]["conditions"] = [{**condition, "reason": "DeletionByDeviceTaintManager"}]
    return recording.pod(value)


USED = [NODE, claim("a", "0", users=["p"]), pod("p", claim="a", node="n")]
EVICTIONS = cases(
    "evicted_pods",
    "commits",
    {
        "VALID": [*USED, of_taint("NoExecute"), evicted("p"), evicted("p", deleting=True)],
        "INVALID": [*USED, of_taint("NoSchedule"), evicted("p"), evicted("p", deleting=True)],
        "UNKNOWN-none": [*USED, of_taint("NoExecute")],
    },
    plan=EVICTING,
)

CASES: Sequence[Case] = (
    *EXCLUSIVITY,
    *CONSUMPTION,
    *SCHEDULERS,
    *RESERVATIONS,
    *TAINTS,
    *EVICTIONS,
)

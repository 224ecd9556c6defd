"""The golden run directories: for each check a VALID, an INVALID and an UNKNOWN one.

A case is one entry of `CASES`. Its folder is `tests/golden/<check>/<name>`, and its name begins
with the verdict on the run, which is the verdict of the check. The history is a text of the
language or, for what the language cannot say, commits of API objects.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from harness.history import plans, records
from tests.histories import building, golden_placements, language, recording, worlds
from tests.histories.golden_case import Case

Object = dict[str, Any]
SECOND_NS = worlds.SECOND_NS
LATE_NS = language.at(0) + 30 * SECOND_NS
"""Long after the last commit, and before the end of the run."""


def settings(**keys: Any) -> Object:
    """A plan with these settings of a scenario."""
    return {"settings": keys}


def claim(name: str, *devices: str, **options: Any) -> recording.Commit:
    """A version of a claim that holds devices of node n (see `worlds.claim`)."""
    held = [worlds.device("n", int(device)) for device in devices]
    return recording.claim(worlds.claim(name, *held, **options))


def pod(name: str, **options: Any) -> recording.Commit:
    """A version of a pod (see `worlds.pod`)."""
    return recording.pod(worlds.pod(name, **options))


def gone(commit: recording.Commit) -> recording.Commit:
    """The deletion of an object."""
    return dataclasses.replace(commit, gone=True)


def step(seq: int, name: str, ts_ns: int = 0, **fields: Any) -> records.Step:
    """A step of the scheduler."""
    return building.step(seq, "scheduling", name, ts_ns or language.at(seq), **fields)


NODE = recording.piece(worlds.devices_of("n", 4))
"""A node with four devices."""

# ----------------------------------------------------------------------------- exclusivity

EXCLUSIVITY = [
    Case(check="device_exclusivity", name="VALID", text="a+D1 a^p p* a-D1 b+D1 b^q q*"),
    Case(check="device_exclusivity", name="INVALID", text="a+D1 a^p p* b+D1 b^q q* a-D1"),
    Case(check="device_exclusivity", name="INVALID-after-its-end", text="a+D1 b+D1 a~ b~"),
    Case(check="device_exclusivity", name="UNKNOWN-admin-access", text="a+D1! a^p p* b+D1!"),
    Case(check="device_exclusivity", name="UNKNOWN-gap", text="a+D1 a^p p* [ a-D1 b+D1 ] q*"),
]

# ----------------------------------------------------------------------------- consumption

SHARED = settings(pools={"more": [{"name": "shared", "shared": {"memory": "4Gi"}}]})
MEMORY = {
    "name": "d1",
    "allowMultipleAllocations": True,
    "capacity": {"memory": {"value": "4Gi"}},
}


def shared_node() -> recording.Commit:
    """A node whose device 1 can be shared."""
    value = worlds.devices_of("n", 4)
    value["spec"]["devices"][1] = MEMORY
    return recording.piece(value)


def share(name: str, memory: int) -> recording.Commit:
    """A claim with a share of device 1."""
    value = worlds.claim(name, worlds.device("n", 1))
    [result] = value["status"]["allocation"]["devices"]["results"]
    result |= {"shareID": f"share-of-{name}", "consumedCapacity": {"memory": f"{memory}Gi"}}
    return recording.claim(value)


CONSUMPTION = [
    Case(
        check="device_consumption",
        name="VALID",
        commits=[shared_node(), claim("a", "0"), share("b", 2), share("c", 2)],
        plan=SHARED,
    ),
    Case(
        check="device_consumption",
        name="INVALID",
        commits=[shared_node(), claim("a", "0"), share("b", 3), share("c", 2)],
        plan=SHARED,
    ),
    Case(
        check="device_consumption",
        name="UNKNOWN-no-share",
        commits=[shared_node(), claim("a", "0")],
        plan=SHARED,
    ),
]

# ------------------------------------------------------------------------ several schedulers

TWO = settings(
    subject={"schedulers": [{"scheduler_name": "one"}, {"scheduler_name": "two"}]},
)


def allocated_by(process: str, name: str, device: str) -> Sequence[recording.Commit]:
    """A claim, and its allocation by a scheduler."""
    value = worlds.claim(name, worlds.device("n", int(device)))
    manager = {
        "manager": f"flake-hunt-{process}",
        "subresource": "status",
        "fieldsV1": {"f:status": {"f:allocation": {}}},
    }
    value["metadata"]["managedFields"] = [manager]
    return recording.claim(worlds.claim(name)), recording.claim(value)


SCHEDULERS = [
    Case(
        check="scheduler_exclusivity",
        name="VALID",
        commits=[*allocated_by("scheduler", "a", "0"), *allocated_by("scheduler-2", "b", "1")],
        plan=TWO,
    ),
    Case(
        check="scheduler_exclusivity",
        name="INVALID",
        commits=[*allocated_by("scheduler-2", "a", "0"), *allocated_by("scheduler-2", "b", "0")],
        plan=TWO,
    ),
    Case(
        check="scheduler_exclusivity",
        name="UNKNOWN-nothing-allocated",
        commits=[claim("a"), pod("p", claim="a")],
        plan=TWO,
    ),
]

# --------------------------------------------------------------------------------- progress


def progress(**fields: Any) -> Object:
    """A plan that asks for progress, without the checks that ask for more."""
    alone = {"expected_steps": [], "expected_preparations": [], "settings": worlds.SETTINGS}
    return {"progress_s": 10.0, **alone, **fields}


RAN = [
    NODE,
    claim("a"),
    pod("p", claim="a"),
    claim("a", "0", users=["p"]),
    pod("p", claim="a", phase="Running", node="n"),
]
"""A pod that got its device and runs."""
FINISHED = [
    pod("p", claim="a", phase="Succeeded", node="n"),
    claim("a"),
    gone(claim("a")),
    gone(pod("p", claim="a", phase="Succeeded", node="n")),
]
"""Its end, and that of its claim."""
RESTED = worlds.phases(seconds=60)
STOPPED_EARLY = (*RESTED, records.Phase(name="found", ts_ns=61 * SECOND_NS, detail="a finding"))


def prepared(name: str = "a") -> records.Prepared:
    """Claim `name` was prepared for its pod on node n."""
    return records.Prepared(**_preparation(name, 0))


def unprepared(name: str = "a") -> records.Unprepared:
    """Claim `name` was unprepared."""
    return records.Unprepared(**_preparation(name, 10))


def _preparation(name: str, after: int) -> Object:
    times = {"begun_ns": language.at(4 + after), "ts_ns": language.at(5 + after)}
    pod = {"pod": "p", "pod_uid": "uid-p"}
    devices = [worlds.device("n", 0)]
    where = {"node": "n", "namespace": worlds.NAMESPACE, "devices": devices}
    return {"claim": name, "claim_uid": f"uid-{name}", **where, **pod, **times}


NODES = {"expected_preparations": [building.KUBELET]}
PROGRESS = [
    Case(check="claim_progress", name="VALID", commits=RAN, plan=progress(), phases=RESTED),
    Case(
        check="claim_progress",
        name="INVALID",
        commits=[*RAN, claim("b"), pod("q", claim="b")],
        plan=progress(),
        phases=RESTED,
    ),
    Case(
        check="claim_progress",
        name="UNKNOWN-no-time",
        commits=RAN,
        plan=progress(),
        phases=STOPPED_EARLY,
    ),
    Case(
        check="resource_leaks",
        name="VALID",
        commits=[*RAN, *FINISHED],
        plan=progress(),
        phases=RESTED,
    ),
    Case(
        check="resource_leaks",
        name="INVALID",
        commits=[*RAN, claim("b", "1")],
        plan=progress(),
        phases=RESTED,
    ),
    Case(
        check="resource_leaks",
        name="UNKNOWN-too-early",
        commits=[*RAN, claim("b", "1")],
        plan=progress(),
        phases=worlds.phases(seconds=10),
    ),
    Case(
        check="leftover_preparations",
        name="VALID",
        commits=[*RAN, *FINISHED],
        plan=progress(**NODES),
        phases=RESTED,
        preparations=[prepared(), unprepared()],
    ),
    Case(
        check="leftover_preparations",
        name="INVALID",
        commits=[*RAN, *FINISHED],
        plan=progress(**NODES),
        phases=RESTED,
        preparations=[prepared()],
    ),
    Case(
        check="leftover_preparations",
        name="UNKNOWN-nothing-prepared",
        commits=[*RAN, *FINISHED],
        plan=progress(**NODES),
        phases=RESTED,
    ),
]

# ------------------------------------------------------------------------------------ books

BOOKS = progress(expected_steps=[building.SCHEDULER])


def books(*devices: str) -> Sequence[records.Step]:
    """The books of a scheduler that counts these devices of node n as allocated."""
    counted = [worlds.device("n", int(device)) for device in devices]
    cached = [{"uid": "uid-a", "version": "4", "devices": [worlds.device("n", 0)]}]
    totals = {"devices": len(counted), "claims": 1, "in_flight": []}
    return [
        step(1, "scheduler.books.devices", LATE_NS, devices=counted),
        step(2, "scheduler.books.claims", LATE_NS, claims=cached),
        step(3, "scheduler.books", LATE_NS, **totals),
    ]


SCHEDULER_BOOKS = [
    Case(
        check="scheduler_books",
        name=name,
        commits=RAN,
        plan=BOOKS,
        phases=RESTED,
        steps=steps,
    )
    for name, steps in {"VALID": books("0"), "INVALID": books("1"), "UNKNOWN-no-books": ()}.items()
]

# --------------------------------------------------------------------------- claim controller

CONTROLLED = progress(expected_steps=["claim-controller"])


def generated(name: str, *devices: str, **options: Any) -> recording.Commit:
    """A claim that was generated for the only entry of pod p."""
    commit = claim(name, *devices, owner="p", **options)
    commit.object["metadata"]["annotations"] = {
        "resource.kubernetes.io/pod-claim-name": "device",
    }
    return commit


def owner(**options: Any) -> recording.Commit:
    """A version of pod p, whose claim comes from a template."""
    return pod("p", **options)


CONTROLLER = [
    Case(
        check="claim_controller",
        name="VALID",
        commits=[
            NODE,
            owner(),
            generated("a"),
            owner(generated="a"),
            generated("a", "0", users=["p"]),
            owner(generated="a", phase="Running", node="n"),
        ],
        plan=CONTROLLED,
        phases=RESTED,
    ),
    Case(
        check="claim_controller",
        name="INVALID",
        commits=[
            NODE,
            owner(),
            generated("a"),
            owner(generated="a"),
            owner(),
            generated("a", "0", users=["p"]),
            owner(generated="a", phase="Running", node="n"),
        ],
        plan=CONTROLLED,
        phases=RESTED,
    ),
    Case(
        check="claim_controller",
        name="UNKNOWN-no-pod",
        commits=[NODE, claim("a", "0"), claim("a")],
        plan=CONTROLLED,
        phases=RESTED,
    ),
]

# ----------------------------------------------------------------------------- reservations

RESERVED: Object = {
    "requirements": plans.Requirements(
        allocations_min=0,
        pods_running_min=0,
        reservations_min=2,
        examined=["claim_reservations"],
    )
}


def shared_by(count: int) -> Sequence[recording.Commit]:
    """A claim that this many pods share."""
    names = [f"p{index}" for index in range(count)]
    users = [pod(name, claim="a") for name in names]
    return [NODE, claim("a", "0"), *users, claim("a", "0", users=names)]


RESERVATIONS = [
    Case(check="claim_reservations", name=name, commits=shared_by(count), plan=RESERVED)
    for name, count in {"VALID": 2, "INVALID": 257, "UNKNOWN-none": 0}.items()
]

# ----------------------------------------------------------------------------------- taints

TAINTED: Object = {
    "settings": {
        "pools": {"changes": [{"kind": "taint"}]},
        "subject": {"schedulers": [{"scheduler_name": "one"}]},
    }
}


def tainted_node() -> recording.Commit:
    """A node whose devices are tainted."""
    return recording.piece(
        worlds.devices_of("n", 4, taints=[{"key": "broken", "effect": "NoSchedule"}])
    )


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
        ("VALID", [tainted_node(), NODE], PLANNED),
        ("INVALID", [NODE, tainted_node()], PLANNED),
        ("UNKNOWN-no-steps", [tainted_node(), NODE], ()),
    )
]

# ------------------------------------------------------------------------------ node level

EXCLUSIVE = settings(driver={"exclusivity": True})


def used(name: str, begun: int, ended: int) -> Sequence[records.Body]:
    """Claim `name` was prepared from one commit to another one."""
    first, last = _preparation(name, 0), _preparation(name, 0)
    first |= {"begun_ns": language.at(begun), "ts_ns": language.at(begun)}
    last |= {"begun_ns": language.at(ended), "ts_ns": language.at(ended)}
    return [records.Prepared(**first), records.Unprepared(**last)]


TURNS = [NODE, claim("a", "0"), claim("a"), claim("b", "0"), claim("b")]
PREPARED = [
    Case(check="prepared_devices", name=name, commits=TURNS, plan=EXCLUSIVE, preparations=body)
    for name, body in {
        "VALID": [*used("a", 2, 3), *used("b", 4, 5)],
        "INVALID": [*used("a", 2, 5), *used("b", 4, 6)],
        "UNKNOWN-never-again": used("a", 2, 3),
    }.items()
]

CONDITIONS = settings(pools={"more": [{"name": "n", "binding_conditions": ["attached"]}]})


def attaching(*true: str, conditions: bool = True) -> recording.Commit:
    """Claim a with a device that has to be attached."""
    value = worlds.claim("a", worlds.device("n", 0))
    [result] = value["status"]["allocation"]["devices"]["results"]
    if conditions:
        result["bindingConditions"] = ["attached"]
        reported = [{"type": name, "status": "True"} for name in true]
        value["status"]["devices"] = [
            {key: result[key] for key in ("driver", "pool", "device")} | {"conditions": reported}
        ]
    return recording.claim(value)


BOUND = pod("p", claim="a", node="n")
READINESS = [
    Case(
        check="device_readiness",
        name=name,
        commits=[NODE, claim("a"), pod("p", claim="a"), *last],
        plan=CONDITIONS,
    )
    for name, last in {
        "VALID": [attaching(), attaching("attached"), BOUND],
        "INVALID": [attaching(), BOUND, attaching("attached")],
        "UNKNOWN-no-conditions": [attaching(conditions=False), BOUND],
    }.items()
]

PARAMETERS = settings(claim={"parameters": {"who": "{claim}"}})


def container(**environment: str) -> records.ContainerStarted:
    """The container of pod p was started with this environment."""
    return records.ContainerStarted(
        node="n",
        namespace=worlds.NAMESPACE,
        pod="p",
        pod_uid="uid-p",
        container="work",
        environment=environment,
        ts_ns=language.at(9),
    )


def user(**options: Any) -> recording.Commit:
    """A version of pod p, whose container uses claim a."""
    commit = pod("p", claim="a", **options)
    commit.object["spec"]["containers"] = [
        {"name": "work", "resources": {"claims": [{"name": "device"}]}}
    ]
    return commit


def told() -> recording.Commit:
    """Claim a with its parameters."""
    commit = claim("a", "0", users=["p"])
    opaque = {"driver": worlds.DRIVER, "parameters": {"who": "a"}}
    commit.object["spec"]["devices"]["config"] = [{"opaque": opaque}]
    return commit


OWN = {"user_who": "a", "claim_a_device": "true"}
PARAMETERS_OF_CONTAINERS = [
    Case(
        check="container_parameters",
        name=name,
        commits=[NODE, user(), told(), user(phase="Running", node="n")],
        plan=PARAMETERS,
        preparations=body,
    )
    for name, body in {
        "VALID": [prepared(), container(**OWN)],
        "INVALID": [prepared(), container(**OWN | {"user_who": "b"})],
        "UNKNOWN-none-started": [prepared()],
    }.items()
]

RESOURCE = "example.com/gpu"
EXTENDED = settings(
    claim={"extended": True},
    pools={"device_class": {"name": "gpus", "extended_resource": RESOURCE}},
)


def asking(*, named: bool = True, phase: str = "Running") -> recording.Commit:
    """Pod p, which asks for an extended resource."""
    value = worlds.pod("p", phase=phase, node="n")
    value["spec"] |= {
        "resourceClaims": [],
        "containers": [{"name": "work", "resources": {"requests": {RESOURCE: "1"}}}],
    }
    mapping = {"containerName": "work", "resourceName": RESOURCE, "requestName": "device"}
    if named:
        value["status"]["extendedResourceClaimStatus"] = {
            "resourceClaimName": "a",
            "requestMappings": [mapping],
        }
    return recording.pod(value)


def special() -> recording.Commit:
    """The claim that the scheduler made for pod p."""
    commit = claim("a", "0", users=["p"], owner="p")
    commit.object["metadata"]["annotations"] = {
        "resource.kubernetes.io/extended-resource-claim": "true"
    }
    return commit


EXTENDED_CLAIMS = [
    Case(check="extended_claims", name=name, commits=[NODE, special(), last], plan=EXTENDED)
    for name, last in {
        "VALID": asking(),
        "INVALID": asking(named=False),
        "UNKNOWN-none-ran": asking(phase="Pending"),
    }.items()
]

CASES: Sequence[Case] = (
    *EXCLUSIVITY,
    *CONSUMPTION,
    *SCHEDULERS,
    *PROGRESS,
    *SCHEDULER_BOOKS,
    *CONTROLLER,
    *RESERVATIONS,
    *TAINTS,
    *PREPARED,
    *READINESS,
    *PARAMETERS_OF_CONTAINERS,
    *EXTENDED_CLAIMS,
    *golden_placements.CASES,
)
IMPOSSIBLE: Mapping[tuple[str, str], str] = {}
"""Check and verdict of which there can be no run directory, and why."""

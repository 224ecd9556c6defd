"""Golden run directories for the checks at node level."""

from collections.abc import Sequence
from typing import Any

from harness.history import records
from tests.histories import language, recording, worlds
from tests.histories.golden_cases.case import Case, cases
from tests.histories.golden_cases.words import NODE, claim, pod, preparation, prepared, settings

EXCLUSIVE = settings(driver={"exclusivity": True})


def used(name: str, begun: int, ended: int) -> Sequence[records.Body]:
    first, last = preparation(name, 0), preparation(name, 0)
    first |= {"begun_ns": language.at(begun), "ts_ns": language.at(begun)}
    last |= {"begun_ns": language.at(ended), "ts_ns": language.at(ended)}
    return [records.Prepared(**first), records.Unprepared(**last)]


TURNS = [NODE, claim("a", "0"), claim("a"), claim("b", "0"), claim("b")]
PREPARED = cases(
    "prepared_devices",
    "preparations",
    {
        "VALID": [*used("a", 2, 3), *used("b", 4, 5)],
        "INVALID": [*used("a", 2, 5), *used("b", 4, 6)],
        "UNKNOWN-never-again": used("a", 2, 3),
    },
    commits=TURNS,
    plan=EXCLUSIVE,
)

CONDITIONS = settings(pools={"more": [{"name": "n", "binding_conditions": ["attached"]}]})


def attaching(*true: str, conditions: bool = True) -> recording.Commit:
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
UNBOUND = [NODE, claim("a"), pod("p", claim="a")]
READINESS = cases(
    "device_readiness",
    "commits",
    {
        "VALID": [*UNBOUND, attaching(), attaching("attached"), BOUND],
        "INVALID": [*UNBOUND, attaching(), BOUND, attaching("attached")],
        "UNKNOWN-no-conditions": [*UNBOUND, attaching(conditions=False), BOUND],
    },
    plan=CONDITIONS,
)

PARAMETERS = settings(claim={"parameters": {"who": "{claim}"}})


def container(**environment: str) -> records.ContainerStarted:
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
    commit = claim("a", "0", users=["p"])
    opaque = {"driver": worlds.DRIVER, "parameters": {"who": "a"}}
    commit.object["spec"]["devices"]["config"] = [{"opaque": opaque}]
    return commit


OWN = {"user_who": "a", "claim_a_device": "true"}
TOLD = [NODE, user(), told(), user(phase="Running", node="n")]
PARAMETERS_OF_CONTAINERS = cases(
    "container_parameters",
    "preparations",
    {
        "VALID": [prepared(), container(**OWN)],
        "INVALID": [prepared(), container(**OWN | {"user_who": "b"})],
        "UNKNOWN-none-started": [prepared()],
    },
    commits=TOLD,
    plan=PARAMETERS,
)

NOT_STARTED = records.ContainersFailed(
    node="n",
    namespace=worlds.NAMESPACE,
    pod="p",
    pod_uid="uid-p",
    reason="CreateContainerError",
    message="unresolvable CDI device gpu.example/test=claim-uid-a-device",
    ts_ns=language.at(9),
)
STARTED_CONTAINERS = cases(
    "prepared_containers",
    "preparations",
    {
        "VALID": [prepared(), container(**OWN)],
        "INVALID": [container(**OWN), *used("a", 10, 11)],
        "INVALID-not-started": [prepared(), NOT_STARTED],
        "UNKNOWN-none-started": [prepared()],
    },
    commits=TOLD,
    plan=PARAMETERS,
)

RESOURCE = "example.com/gpu"
EXTENDED = settings(
    claim={"extended": True},
    pools={"device_class": {"name": "gpus", "extended_resource": RESOURCE}},
)


def asking(*, named: bool = True, phase: str = "Running") -> recording.Commit:
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
    commit = claim("a", "0", users=["p"], owner="p")
    commit.object["metadata"]["annotations"] = {
        "resource.kubernetes.io/extended-resource-claim": "true"
    }
    return commit


EXTENDED_CLAIMS = cases(
    "extended_claims",
    "commits",
    {
        "VALID": [NODE, special(), asking()],
        "INVALID": [NODE, special(), asking(named=False)],
        "UNKNOWN-none-ran": [NODE, special(), asking(phase="Pending")],
    },
    plan=EXTENDED,
)

CASES: Sequence[Case] = (
    *PREPARED,
    *READINESS,
    *PARAMETERS_OF_CONTAINERS,
    *STARTED_CONTAINERS,
    *EXTENDED_CLAIMS,
)

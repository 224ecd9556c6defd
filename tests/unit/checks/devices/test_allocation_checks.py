"""Each promise about an allocation: what breaks it is named, and nothing else is."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import check_results, verdicts
from harness.checks.devices import (
    claim_constraints,
    copied_results,
    distinct_devices,
    granted_access,
    granted_shares,
    reachable_devices,
    requested_results,
    selected_devices,
)
from harness.checks.taints import attempt_views
from harness.history import plans, records
from tests.histories import building, placements
from tests.histories.placements import (
    claim,
    device,
    device_class,
    exactly,
    gone,
    labelled,
    listed,
    node,
    on,
    opaque,
    option,
    piece,
    result,
)

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
Events = Sequence[placements.Event | None]
NUMA = f"device.attributes['{placements.DRIVER}'].numa"
ATTRIBUTE = f"{placements.DRIVER}/numa"
D1, D2 = (device(name, attributes={"numa": numa}) for numa, name in enumerate(["D1", "D2"]))
SHARED = device("S", allowMultipleAllocations=True, capacity={"memory": "8Gi"})
BIG = piece(device("B", capacity={"memory": "4Gi"}), name="b", pool="n2")
WORLD = [listed(node("n1", zone="a")), listed(node("n2", zone="b")), listed(device_class())]


def judge(
    check: Any,
    events: Events,
    plan: plans.Plan | None = None,
    views: Mapping[str, attempt_views.View] | None = None,
) -> verdicts.CheckResult:
    seen = placements.fold(events)
    answer = check.CHECK.judge(seen.evidence(plan, views))
    assert isinstance(answer, verdicts.CheckResult), answer
    return answer


def why_not(check: Any, events: Events) -> str:
    seen = placements.fold(events)
    answer = check.CHECK.judge(seen.evidence())
    assert isinstance(answer, verdicts.NotExamined), answer
    return answer.reason


def _world(*pieces: placements.Event) -> list[placements.Event]:
    return [*WORLD, *map(listed, pieces or [piece(D1, D2, SHARED)])]


def _share(memory: str = "1Gi", **fields: Any) -> placements.Object:
    return result("S", shareID="1", consumedCapacity={"memory": memory}, **fields)


TWO = [exactly("r"), exactly("q")]
EITHER = [
    {"name": "r", "firstAvailable": [{"name": "x", **option(count=2)}, {"name": "y", **option()}]}
]
ALL = [exactly(allocationMode="All")]
TOLERATIONS = [
    {"key": "a", "operator": "Exists"},
    {"key": "b", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5},
]
TOLERANT = [exactly(tolerations=TOLERATIONS)]
TOLERANT_Y = [
    {
        "name": "r",
        "firstAvailable": [
            {"name": "x", **option()},
            {"name": "y", **option(tolerations=TOLERATIONS)},
        ],
    }
]
CONDITIONS = {"bindingConditions": ["ready"], "bindingFailureConditions": ["no"]}
AWAITED = piece(device("A", **CONDITIONS), name="awaited", pool="n2")
CONFIGURED = device_class(name="house", config=[opaque("house")])
HOUSE = [exactly(deviceClassName="house")]
OF_CLASS = opaque("house", "r", source="FromClass")
BINDING = piece(device("W", bindsToNode=True), pool="all", name="w", allNodes=True)
MATCH = [{"matchAttribute": ATTRIBUTE}]
CASES: list[tuple[Any, str, list[placements.Event], str]] = [
    # The check, its history in words and as events, and the mistake in it (empty: none).
    (selected_devices, "no selectors", [claim("c", result("D1"))], ""),
    (
        selected_devices,
        "matches",
        [claim("c", result("D2"), requests=[exactly("r", f"{NUMA} == 1")])],
        "",
    ),
    (
        selected_devices,
        "does not match",
        [claim("c", result("D1"), requests=[exactly("r", f"{NUMA} == 1")])],
        f"gpu.example/n1/D1 does not match the selector of request r: {NUMA} == 1",
    ),
    (
        selected_devices,
        "lacks the attribute",
        [claim("c", result("S"), requests=[exactly("r", f"{NUMA} == 1")])],
        "does not match",
    ),
    (
        selected_devices,
        "refused by the class, once that has selectors",
        [
            gone(device_class()),
            device_class("false", name="other"),
            claim("c", result("D1"), requests=[exactly("r", deviceClassName="other")]),
        ],
        "does not match the selector of request r: false",
    ),
    (
        selected_devices,
        "the class admitted it before",
        [device_class("false"), claim("c", result("D1"))],
        "",
    ),
    (
        selected_devices,
        "no such class",
        [claim("c", result("D1"), requests=[exactly("r", deviceClassName="none")])],
        "the device class none of request r did not exist",
    ),
    (
        selected_devices,
        "matched in an older version",
        [
            piece(device("D1", attributes={"numa": 1})),
            piece(D1),
            claim("c", result("D1"), requests=[exactly("r", f"{NUMA} == 1")]),
        ],
        "",
    ),
    (
        selected_devices,
        "matches only later",
        [
            claim("c", result("D1"), requests=[exactly("r", f"{NUMA} == 1")]),
            piece(device("D1", attributes={"numa": 1})),
        ],
        "does not match",
    ),
    (claim_constraints, "one device", [claim("c", result("D1"), constraints=MATCH)], ""),
    (
        claim_constraints,
        "two values",
        [claim("c", result("D1"), result("D2", request="q"), requests=TWO, constraints=MATCH)],
        "the attribute gpu.example/numa must be the same for gpu.example/n1/D1, gpu.example/n1/D2",
    ),
    (
        claim_constraints,
        "only of one request",
        [
            claim(
                "c",
                result("D1"),
                result("D2", request="q"),
                requests=TWO,
                constraints=[{**MATCH[0], "requests": ["q"]}],
            )
        ],
        "",
    ),
    (
        claim_constraints,
        "of an alternative",
        [
            claim(
                "c",
                result("D1", request="r/x"),
                result("D2", request="r/x"),
                requests=EITHER,
                constraints=[{**MATCH[0], "requests": ["r"]}],
            )
        ],
        "must be the same",
    ),
    (
        claim_constraints,
        "no attribute",
        [claim("c", result("S"), constraints=MATCH)],
        "must be the same",
    ),
    (
        claim_constraints,
        "distinct",
        [
            claim(
                "c",
                result("D1"),
                result("D2", request="q"),
                requests=TWO,
                constraints=[{"distinctAttribute": ATTRIBUTE}],
            )
        ],
        "",
    ),
    (
        claim_constraints,
        "not distinct",
        [
            piece(D1, device("D3", attributes={"numa": 0}), name="t"),
            claim(
                "c",
                result("D1"),
                result("D3", request="q"),
                requests=TWO,
                constraints=[{"distinctAttribute": ATTRIBUTE}],
            ),
        ],
        "must be different",
    ),
    (
        claim_constraints,
        "the same in older versions",
        [
            piece(device("D2", attributes={"numa": 0}), name="t"),
            claim("c", result("D1"), result("D2", request="q"), requests=TWO, constraints=MATCH),
        ],
        "",
    ),
    (requested_results, "one", [claim("c", result("D1"))], ""),
    (
        requested_results,
        "too few",
        [claim("c", result("D1"), requests=[exactly(count=2)])],
        "request r got 1 device instead of 2",
    ),
    (
        requested_results,
        "too many",
        [claim("c", result("D1"), result("D2"))],
        "request r got 2 devices instead of 1",
    ),
    (
        requested_results,
        "a request without devices",
        [claim("c", result("D1"), requests=TWO)],
        "request q got no device",
    ),
    (
        requested_results,
        "an unknown request",
        [claim("c", result("D1"), result("D2", request="z"))],
        "a result names request z, which the claim lacks",
    ),
    (
        requested_results,
        "an alternative",
        [claim("c", result("D1", request="r/y"), requests=EITHER)],
        "",
    ),
    (
        requested_results,
        "an alternative with too few",
        [claim("c", result("D1", request="r/x"), requests=EITHER)],
        "request r/x got 1 device instead of 2",
    ),
    (
        requested_results,
        "two alternatives",
        [claim("c", result("D1", request="r/y"), result("D2", request="r/x"), requests=EITHER)],
        "request r got devices for r/x and r/y, which are alternatives",
    ),
    (
        requested_results,
        "all",
        [claim("c", result("D1"), result("D2"), _share(), requests=ALL, selector=on("n1"))],
        "",
    ),
    (
        requested_results,
        "all but one of which others may have shares",
        [claim("c", result("D1"), result("D2"), requests=ALL, selector=on("n1"))],
        "request r asks for all devices and got 2 devices, but not gpu.example/n1/S",
    ),
    (
        requested_results,
        "not all",
        [claim("c", result("D1"), _share(), requests=ALL, selector=on("n1"))],
        "request r asks for all devices and got 2 devices, but not gpu.example/n1/D2",
    ),
    (
        requested_results,
        "all that match",
        [
            claim(
                "c",
                result("D2"),
                requests=[exactly("r", f"{NUMA} == 1", allocationMode="All")],
                selector=on("n1"),
            )
        ],
        "",
    ),
    (
        requested_results,
        "perhaps not all: the pool has changed",
        [piece(D1, D2), claim("c", result("D1"), requests=ALL, selector=on("n1"))],
        "",
    ),
    (granted_access, "none", [claim("c", result("D1"))], ""),
    (
        granted_access,
        "as asked",
        [claim("c", result("D1", adminAccess=True), requests=[exactly(adminAccess=True)])],
        "",
    ),
    (
        granted_access,
        "not asked for",
        [claim("c", result("D1", adminAccess=True))],
        "gpu.example/n1/D1 was given with admin access, which request r does not ask for",
    ),
    (
        granted_access,
        "not given",
        [claim("c", result("D1"), requests=[exactly(adminAccess=True)])],
        "gpu.example/n1/D1 was given without admin access, which request r asks for",
    ),
    (granted_shares, "none", [claim("c", result("D1"))], ""),
    (granted_shares, "a share of all there is", [claim("c", _share("8Gi"))], ""),
    (
        granted_shares,
        "a share of a part",
        [claim("c", _share())],
        "gpu.example/n1/S consumes 1Gi memory instead of 8Gi",
    ),
    (
        granted_shares,
        "no share of what can be shared",
        [claim("c", result("S"))],
        "gpu.example/n1/S can be shared, but was allocated without a share ID",
    ),
    (
        granted_shares,
        "admin access to what can be shared",
        [claim("c", result("S", adminAccess=True))],
        "",
    ),
    (
        granted_shares,
        "admin access by a share",
        [claim("c", result("S", adminAccess=True, shareID="1"))],
        "",
    ),
    (
        granted_shares,
        "admin access by a share with a wrong amount",
        [claim("c", _share("1Gi", adminAccess=True))],
        "consumes 1Gi memory instead of 8Gi",
    ),
    (
        granted_shares,
        "more than asked",
        [claim("c", _share("2Gi"), requests=[exactly(capacity={"requests": {"memory": "1Gi"}})])],
        "consumes 2Gi memory instead of 1Gi",
    ),
    (
        granted_shares,
        "less than nothing",
        [claim("c", _share("-2Gi"), requests=[exactly(capacity={"requests": {"memory": "-2Gi"}})])],
        "cannot be allocated: of memory, the request takes -2Gi, which is less than nothing",
    ),
    (
        granted_shares,
        "an amount of another spelling",
        [claim("c", _share("8589934592"))],
        "",
    ),
    (
        granted_shares,
        "asked of a device that cannot be shared and has enough",
        [
            BIG,
            claim(
                "c",
                result("B", pool="n2"),
                requests=[exactly(capacity={"requests": {"memory": "4Gi"}})],
            ),
        ],
        "",
    ),
    (
        granted_shares,
        "asked of a device that cannot be shared and has less",
        [
            BIG,
            claim(
                "c",
                result("B", pool="n2"),
                requests=[exactly(capacity={"requests": {"memory": "5Gi"}})],
            ),
        ],
        "gpu.example/n2/B cannot be allocated: of memory, the request takes 5Gi, of 4Gi that",
    ),
    (
        granted_shares,
        "asked of a device that has none",
        [claim("c", result("D1"), requests=[exactly(capacity={"requests": {"memory": "1"}})])],
        "gpu.example/n1/D1 lacks the capacity memory, of which 1 was asked for",
    ),
    (
        granted_shares,
        "a capacity that is missing in the slice's newest version only",
        [
            piece(D1, D2, device("S", allowMultipleAllocations=True)),
            claim("c", _share("8Gi")),
        ],
        "",
    ),
    (
        granted_shares,
        "the alternative that was chosen",
        [
            claim(
                "c",
                _share("2Gi", request="r/y"),
                requests=[
                    {
                        "name": "r",
                        "firstAvailable": [
                            {"name": "x", **option(capacity={"requests": {"memory": "9Gi"}})},
                            {"name": "y", **option(capacity={"requests": {"memory": "2Gi"}})},
                        ],
                    }
                ],
            )
        ],
        "",
    ),
    (
        granted_shares,
        "of another device",
        [claim("c", result("D1", shareID="1"))],
        "gpu.example/n1/D1 was allocated in a share, but no slice offers it for sharing",
    ),
    (
        granted_shares,
        "consumed without a share",
        [claim("c", result("S", consumedCapacity={"memory": "1Gi"}))],
        "was allocated with consumed capacity, but not in a share",
    ),
    (
        granted_shares,
        "less than asked",
        [claim("c", _share(), requests=[exactly(capacity={"requests": {"memory": "2Gi"}})])],
        "consumes 1Gi memory instead of 2Gi",
    ),
    (
        granted_shares,
        "as much as asked, by the full name",
        [
            claim(
                "c",
                _share("2Gi"),
                requests=[exactly(capacity={"requests": {"gpu.example/memory": "2Gi"}})],
            )
        ],
        "",
    ),
    (
        granted_shares,
        "more than there is",
        [claim("c", _share("9Gi"), requests=[exactly(capacity={"requests": {"memory": "9Gi"}})])],
        "cannot be allocated: of memory, the request takes 9Gi, of 8Gi that there are",
    ),
    (
        granted_shares,
        "another capacity",
        [claim("c", result("S", shareID="1", consumedCapacity={"cores": "1"}))],
        "consumes cores, a capacity that it lacks",
    ),
    (
        granted_shares,
        "nothing of what was asked",
        [
            claim(
                "c",
                result("S", shareID="1"),
                requests=[exactly(capacity={"requests": {"memory": "2Gi"}})],
            )
        ],
        "consumes no memory instead of 2Gi",
    ),
    (copied_results, "nothing to copy", [claim("c", result("D1"))], ""),
    (
        copied_results,
        "all tolerations",
        [claim("c", result("D1", tolerations=TOLERATIONS), requests=TOLERANT)],
        "",
    ),
    (
        copied_results,
        "tolerations, with their defaults written out",
        [
            claim(
                "c",
                result("D1", tolerations=[{"key": "k", "operator": "Equal", "value": ""}]),
                requests=[exactly(tolerations=[{"key": "k"}])],
            )
        ],
        "",
    ),
    (
        copied_results,
        "lost tolerations",
        [claim("c", result("D1"), requests=TOLERANT)],
        "gpu.example/n1/D1 got the tolerations [] instead of [{",
    ),
    (
        copied_results,
        "one toleration lost",
        [claim("c", result("D1", tolerations=TOLERATIONS[:1]), requests=TOLERANT)],
        "got the tolerations",
    ),
    (
        copied_results,
        "another duration",
        [
            claim(
                "c",
                result(
                    "D1", tolerations=[TOLERATIONS[0], {**TOLERATIONS[1], "tolerationSeconds": 6}]
                ),
                requests=TOLERANT,
            )
        ],
        "got the tolerations",
    ),
    (
        copied_results,
        "invented tolerations",
        [claim("c", result("D1", tolerations=TOLERATIONS))],
        "got the tolerations [{",
    ),
    (
        copied_results,
        "tolerations of the alternative that was chosen",
        [
            claim("c", result("D1", request="r/y", tolerations=TOLERATIONS), requests=TOLERANT_Y),
        ],
        "",
    ),
    (
        copied_results,
        "tolerations of another alternative",
        [
            claim("c", result("D1", request="r/x", tolerations=TOLERATIONS), requests=TOLERANT_Y),
        ],
        "got the tolerations",
    ),
    (
        copied_results,
        "binding conditions",
        [AWAITED, claim("c", result("A", pool="n2", **CONDITIONS))],
        "",
    ),
    (
        copied_results,
        "lost binding conditions",
        [AWAITED, claim("c", result("A", pool="n2"))],
        'got the binding conditions, and those of failures, [[],[]] instead of [["ready"],["no"]]',
    ),
    (
        copied_results,
        "lost conditions of failures",
        [AWAITED, claim("c", result("A", pool="n2", bindingConditions=["ready"]))],
        'instead of [["ready"],["no"]]',
    ),
    (
        copied_results,
        "invented binding conditions",
        [claim("c", result("D1", bindingConditions=["ready"]))],
        "got the binding conditions",
    ),
    (
        copied_results,
        "binding conditions of an earlier version of the slice",
        [
            AWAITED,
            piece("A", name="awaited", pool="n2"),
            claim("c", result("A", pool="n2", **CONDITIONS)),
        ],
        "",
    ),
    (
        copied_results,
        "binding conditions of two versions of the slice",
        [
            piece(device("A", bindingConditions=["ready"]), name="awaited", pool="n2"),
            piece(device("A", bindingFailureConditions=["no"]), name="awaited", pool="n2"),
            claim("c", result("A", pool="n2", **CONDITIONS)),
        ],
        "got the binding conditions",
    ),
    (
        copied_results,
        "configuration of class and claim",
        [
            CONFIGURED,
            claim(
                "c",
                result("D1"),
                requests=HOUSE,
                config=[opaque("mine")],
                copied=[OF_CLASS, opaque("mine", source="FromClaim")],
            ),
        ],
        "",
    ),
    (
        copied_results,
        "configuration that was repeated",
        [CONFIGURED, claim("c", result("D1"), requests=HOUSE, copied=[OF_CLASS, OF_CLASS])],
        "",
    ),
    (
        copied_results,
        "configuration of the claim that comes twice",
        [
            claim(
                "c",
                result("D1"),
                config=[opaque("mine")],
                copied=[opaque("mine", source="FromClaim"), opaque("mine", source="FromClaim")],
            )
        ],
        "comes 2 times instead of 1",
    ),
    (
        copied_results,
        "configuration of an earlier version of the class",
        [
            CONFIGURED,
            device_class(name="house"),
            claim("c", result("D1"), requests=HOUSE, copied=[OF_CLASS]),
        ],
        "",
    ),
    (
        copied_results,
        "lost configuration of the class",
        [CONFIGURED, claim("c", result("D1"), requests=HOUSE)],
        'request r got the configuration [] instead of [["FromClass",{"driver":"gpu.example"',
    ),
    (
        copied_results,
        "lost configuration of the claim",
        [claim("c", result("D1"), config=[opaque("mine")])],
        'request r got the configuration [] instead of [["FromClaim",',
    ),
    (
        copied_results,
        "configuration with another source",
        [
            CONFIGURED,
            claim("c", result("D1"), requests=HOUSE, copied=[{**OF_CLASS, "source": "FromClaim"}]),
        ],
        "got the configuration",
    ),
    (
        copied_results,
        "configuration with another text",
        [
            CONFIGURED,
            claim(
                "c", result("D1"), requests=HOUSE, copied=[opaque("his", "r", source="FromClass")]
            ),
        ],
        "got the configuration",
    ),
    (
        copied_results,
        "that of the claim before that of the class",
        [
            CONFIGURED,
            claim(
                "c",
                result("D1"),
                requests=HOUSE,
                config=[opaque("mine")],
                copied=[opaque("mine", source="FromClaim"), OF_CLASS],
            ),
        ],
        "got the configuration",
    ),
    (
        copied_results,
        "invented configuration",
        [claim("c", result("D1"), copied=[OF_CLASS])],
        "got the configuration",
    ),
    (
        copied_results,
        "configuration for one of two requests",
        [
            claim(
                "c",
                result("D1"),
                result("D2", request="q"),
                requests=TWO,
                config=[opaque("mine", "q")],
                copied=[opaque("mine", "q", source="FromClaim")],
            )
        ],
        "",
    ),
    (
        copied_results,
        "configuration for one of two requests, given to both",
        [
            claim(
                "c",
                result("D1"),
                result("D2", request="q"),
                requests=TWO,
                config=[opaque("mine", "q")],
                copied=[opaque("mine", source="FromClaim")],
            )
        ],
        'request r got the configuration [["FromClaim"',
    ),
    *(
        (
            copied_results,
            f"configuration for {named}, of which y was chosen",
            [
                claim(
                    "c",
                    result("D1", request="r/y"),
                    requests=EITHER,
                    config=[opaque("mine", named)],
                    copied=[opaque("mine", *copied, source="FromClaim")] if copied else [],
                )
            ],
            problem,
        )
        for named, copied, problem in (
            ("r", ["r"], ""),
            ("r/y", ["r/y"], ""),
            ("r/x", ["r/x"], ""),
            ("r/x", [], ""),
            ("r/x", ["r"], "request r/y got the configuration"),
            ("r", ["r/x"], "request r/y got the configuration"),
            ("r", [], "request r/y got the configuration"),
        )
    ),
    (reachable_devices, "its node", [claim("c", result("D1"), selector=on("n1"))], ""),
    (
        reachable_devices,
        "another node",
        [claim("c", result("D1"), selector=on("n2"))],
        "its node selector admits node n2, from which D1 cannot be reached",
    ),
    (reachable_devices, "every node", [claim("c", result("D1"))], "admits node n2"),
    (
        reachable_devices,
        "no node",
        [claim("c", result("D1"), selector=on("n9"))],
        "its node selector admits no node that there was",
    ),
    (
        reachable_devices,
        "a zone",
        [
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "a")),
            claim("c", result("Z", pool="zone"), selector=labelled("zone", "a")),
        ],
        "",
    ),
    (
        reachable_devices,
        "two zones",
        [
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "a")),
            claim("c", result("Z", pool="zone"), selector=labelled("zone", "a", "b")),
        ],
        "admits node n2, from which Z cannot be reached",
    ),
    (
        reachable_devices,
        "a device of the cluster",
        [piece("C", pool="all", name="a", allNodes=True), claim("c", result("C", pool="all"))],
        "",
    ),
    (
        reachable_devices,
        "a device that names its node",
        [
            piece(device("P", nodeName="n2"), pool="each", name="e", perDeviceNodeSelection=True),
            claim("c", result("P", pool="each"), selector=on("n1")),
        ],
        "admits node n1, from which P cannot be reached",
    ),
    (
        reachable_devices,
        "the node has moved since",
        [
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "a")),
            node("n1", zone="c"),
            claim("c", result("Z", pool="zone"), selector=labelled("zone", "a")),
        ],
        "",
    ),
    (
        reachable_devices,
        "one node for a device of the cluster",
        [
            piece("C", pool="all", name="a", allNodes=True),
            claim("c", result("C", pool="all"), selector=on("n1")),
        ],
        "does not admit another node, from which all its devices can be reached",
    ),
    (
        reachable_devices,
        "both nodes by their names for a device of the cluster",
        [
            piece("C", pool="all", name="a", allNodes=True),
            claim("c", result("C", pool="all"), selector=on("n1", "n2")),
        ],
        "does not admit another node",
    ),
    (
        reachable_devices,
        "one zone for a device of the cluster",
        [
            piece("C", pool="all", name="a", allNodes=True),
            claim("c", result("C", pool="all"), selector=labelled("zone", "a")),
        ],
        "does not admit another node with zone=",
    ),
    (
        reachable_devices,
        "one node of a zone",
        [
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "a")),
            claim("c", result("Z", pool="zone"), selector=on("n1")),
        ],
        "does not admit another node with zone=a",
    ),
    (
        reachable_devices,
        "one of two zones",
        [
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "a", "b")),
            claim("c", result("Z", pool="zone"), selector=labelled("zone", "a")),
        ],
        "does not admit another node with zone=b",
    ),
    (
        reachable_devices,
        "a zone that no node is in yet",
        [
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "a")),
            claim("c", result("Z", pool="zone"), selector=labelled("zone", "b", operator="NotIn")),
        ],
        "admits another node with zone=(another one), from which all its devices cannot be reached",
    ),
    (
        reachable_devices,
        "the same zones in another form",
        [
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "a", "b")),
            claim("c", result("Z", pool="zone"), selector=labelled("zone", "b", "a", "a")),
        ],
        "",
    ),
    (
        reachable_devices,
        "the zone of an earlier version of the slice",
        [
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "a")),
            piece("Z", pool="zone", name="z", nodeSelector=labelled("zone", "b")),
            claim("c", result("Z", pool="zone"), selector=labelled("zone", "a")),
        ],
        "",
    ),
    (
        reachable_devices,
        "the node of one device, with another one of the cluster",
        [
            piece("C", pool="all", name="a", allNodes=True),
            claim("c", result("C", pool="all"), result("D1"), selector=on("n1")),
        ],
        "",
    ),
    (
        reachable_devices,
        "a node that there is not, besides that of the device",
        [claim("c", result("D1"), selector=on("n1", "n9"))],
        "names n1, n9, but its devices can only be used on n1",
    ),
    (
        reachable_devices,
        "a label of the device's node",
        [claim("c", result("D1"), selector=labelled("zone", "a"))],
        "",
    ),
    (
        reachable_devices,
        "the chosen node for a device that binds to it",
        [BINDING, claim("c", result("W", pool="all"), selector=on("n2"))],
        "",
    ),
    (
        reachable_devices,
        "two nodes for a device that binds to one",
        [BINDING, claim("c", result("W", pool="all"), selector=on("n1", "n2"))],
        "names n1, n2, but its devices can only be used on the one that was chosen",
    ),
    (
        reachable_devices,
        "no selector for a device that binds to one node",
        [BINDING, claim("c", result("W", pool="all"))],
        "does not name the only node from which its devices can be used: the one that was chosen",
    ),
    (distinct_devices, "one", [claim("c", result("D1"))], ""),
    (
        distinct_devices,
        "two",
        [claim("c", result("D1"), result("D2", request="q"), requests=TWO)],
        "",
    ),
    (
        distinct_devices,
        "the same",
        [claim("c", result("D1"), result("D1", request="q"), requests=TWO)],
        "gpu.example/n1/D1 was given to it 2 times, for request r and request q",
    ),
    (
        distinct_devices,
        "twice with admin access",
        [claim("c", *[result("D1", adminAccess=True)] * 2)],
        "was given to it 2 times",
    ),
    (
        distinct_devices,
        "two shares",
        [claim("c", result("S", shareID="1"), result("S", shareID="2"))],
        "",
    ),
    (
        distinct_devices,
        "one share twice",
        [claim("c", result("S", shareID="1"), result("S", shareID="1"))],
        "was given to it 2 times",
    ),
    (
        distinct_devices,
        "a share and the whole",
        [claim("c", result("S", shareID="1"), result("S", request="q"))],
        "was given to it 2 times",
    ),
]


@pytest.mark.parametrize(
    ("check", "events", "problem"),
    [(check, events, problem) for check, _, events, problem in CASES],
    ids=[f"{check.CHECK.name}: {title}" for check, title, _, _ in CASES],
)
def test_what_breaks_a_promise_is_named(
    check: Any, events: list[placements.Event], problem: str
) -> None:
    found = judge(check, [*_world(), *events])
    assert found.examined_count == 1
    assert (found.verdict, found.violation_count) == (INVALID if problem else VALID, bool(problem))
    for violation in found.violations:
        assert problem in violation.summary
        assert problem in violation.text
        assert [item.name for item in violation.objects] == ["c"]


CHECKS = (
    selected_devices,
    claim_constraints,
    requested_results,
    granted_access,
    granted_shares,
    copied_results,
    reachable_devices,
    distinct_devices,
)
checks = pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.CHECK.name))


@checks
def test_without_allocations_nothing_is_examined(check: Any) -> None:
    assert why_not(check, [*_world(), claim("c")]).endswith("so nothing was examined")


@pytest.mark.parametrize(
    "check",
    [selected_devices, claim_constraints, granted_shares, copied_results, reachable_devices],
    ids=lambda check: str(check.CHECK.name),
)
def test_a_device_that_no_slice_has_is_not_examined(check: Any) -> None:
    """Another check says that it does not exist."""
    why = why_not(check, [*WORLD, claim("c", result("D1"), constraints=MATCH)])
    assert why.startswith("a device was in no slice that was observed")


@pytest.mark.parametrize(
    ("check", "resource"),
    [
        (selected_devices, "deviceclasses"),
        (claim_constraints, "resourceslices"),
        (granted_shares, "resourceslices"),
        (copied_results, "resourceslices"),
        (copied_results, "deviceclasses"),
        (reachable_devices, "nodes"),
    ],
)
def test_a_gap_may_hide_the_version_that_would_explain_it(check: Any, resource: str) -> None:
    seen = placements.fold([*_world(), claim("c", result("D1"), selector=on("n2"))])
    seen.catalogue.see_gap(
        records.Gap(resource=resource, after_resource_version=1, reason="410", ts_ns=1)
    )
    answer = check.CHECK.judge(seen.evidence())
    assert isinstance(answer, verdicts.NotExamined)
    assert answer.reason.startswith(f"versions of {resource} may be missing")


def test_a_constraint_that_holds_does_not_hide_one_that_is_not_judged() -> None:
    constraints = [{"requests": ["r"], **MATCH[0]}, {"requests": ["q"], **MATCH[0]}]
    requests = [exactly("r"), exactly("q")]
    results = [result("D1"), result("none", request="q")]
    event = claim("c", *results, requests=requests, constraints=constraints)
    assert "a device was in no slice" in why_not(claim_constraints, [*_world(), event])


def test_a_constraint_of_an_unknown_kind_holds() -> None:
    event = claim("c", result("D1"), constraints=[{"requests": ["r"]}])
    assert judge(claim_constraints, [*_world(), event]).verdict is VALID


def test_a_selector_that_the_judge_does_not_know_is_not_examined() -> None:
    known = claim("a", result("D1"))
    strange = claim("c", result("D1"), requests=[exactly("r", "ip('1.1.1.1').family() == 4")])
    assert "cannot evaluate ip(" in why_not(selected_devices, [*_world(), strange])
    found = judge(selected_devices, [*_world(), known, strange])
    assert (found.verdict, found.examined_count) == (VALID, 1)
    assert "1 not examined: this judge cannot evaluate ip('1.1.1.1')" in found.reason


def test_a_stale_list_may_explain_what_is_not_all() -> None:
    stale = plans.PlannedFault(name="f", kind="stale-list", carrier="server", text="stale")
    plan = msgspec.structs.replace(building.plan(), faults=[stale])
    events = [*_world(), claim("c", result("D1"), requests=ALL, selector=on("n1"))]
    assert judge(requested_results, events, plan).verdict is VALID
    assert judge(requested_results, events).verdict is INVALID


def test_the_first_the_worst_and_the_last_are_in_full_and_all_are_counted() -> None:
    """The worst one has most wrong requests."""
    wrong = [claim(f"c{number:03d}", result("D1", request="z")) for number in range(300)]
    worst = claim("worst", *[result("D1", request=name) for name in "xyz"], requests=TWO)
    found = judge(requested_results, [*_world(), *wrong[:150], worst, *wrong[150:]])
    assert (found.examined_count, found.violation_count) == (301, 301)
    names = [violation.objects[0].name for violation in found.violations]
    first = [f"c{number:03d}" for number in range(check_results.IN_FULL_MAX)]
    assert names == [*first, "worst", "c299"]
    assert len(found.others) == check_results.OTHERS_MAX
    assert found.reason.startswith("301 of 301 allocations wrong, the first: claim c000: ")
    assert "; the worst: claim worst: " in found.reason
    assert "; the last: claim c299: " in found.reason


def test_an_allocation_is_judged_once_and_another_one_again() -> None:
    """A version without change is none; one that was freed and allocated again is."""
    one = claim("c", result("D1"))
    found = judge(granted_access, [*_world(), one, one, claim("c"), one])
    assert found.examined_count == 2


def test_equal_allocations_are_asked_about_once() -> None:
    many = [claim(f"c{number}", result("S", shareID=f"{number}")) for number in range(50)]
    seen = placements.fold([*_world(), *many])
    assert (len(seen.made), len(seen.made.grants)) == (50, 1)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (["resourceclaims", "pods"], set()),
        (
            ["resourceclaims", "pods", "resourceslices"],
            {
                requested_results,
                granted_access,
                granted_shares,
                distinct_devices,
                claim_constraints,
            },
        ),
        (
            ["resourceslices", "deviceclasses"],
            {
                requested_results,
                granted_access,
                granted_shares,
                distinct_devices,
                claim_constraints,
                selected_devices,
                copied_results,
            },
        ),
        (
            ["resourceslices", "nodes"],
            {
                requested_results,
                granted_access,
                granted_shares,
                distinct_devices,
                claim_constraints,
                reachable_devices,
            },
        ),
        (
            ["resourceclaims", "pods", "resourceslices", "deviceclasses", "nodes"],
            set(CHECKS),
        ),
    ],
)
def test_runs_owe_what_their_recorder_can_show(resources: list[str], expected: set[Any]) -> None:
    plan = msgspec.structs.replace(building.plan(), resources=resources)
    assert {check for check in CHECKS if check.CHECK.applies(plan)} == expected


def test_claims_without_constraints_say_nothing_of_them() -> None:
    plain, other = claim("c", result("D1")), claim("d", result("D2"))
    answer = _answered(claim_constraints, [*_world(), plain])
    assert answer.reason == "no claim with constraints was allocated, so nothing was examined"
    asking = claim("e", result("D1"), constraints=MATCH)
    both = judge(claim_constraints, [*_world(), plain, asking, other])
    assert (both.examined_count, both.unexamined_count) == (1, 0)


def _answered(check: Any, events: Events) -> verdicts.Answer:
    answer: verdicts.Answer = check.CHECK.judge(placements.fold(events).evidence())
    return answer


def test_in_a_cluster_of_one_node_the_device_of_a_node_still_needs_its_name() -> None:
    events = [node("n1"), device_class(), piece(D1), claim("c", result("D1"))]
    [violation] = judge(reachable_devices, events).violations
    assert "does not name the only node from which its devices can be used: n1" in violation.text


def test_in_a_cluster_of_one_node_a_selector_can_be_too_narrow() -> None:
    of_all = piece("C", pool="all", allNodes=True)
    events = [
        node("n1"),
        device_class(),
        of_all,
        claim("c", result("C", pool="all"), selector=on("n1")),
    ]
    [violation] = judge(reachable_devices, events).violations
    assert "does not admit another node" in violation.text


def test_devices_that_changed_too_often_for_all_combinations_are_not_examined() -> None:
    changes = [
        piece("A", "B", pool="all", allNodes=True, generation=number) for number in range(1, 9)
    ]
    for number, event in enumerate(changes):
        for item in event.obj["spec"]["devices"]:
            item["attributes"] = {"number": {"int": number}}
    rows = [result("A", pool="all"), result("B", pool="all")]
    judge(reachable_devices, [*WORLD, *changes, claim("c", *rows)])
    again = piece("A", "B", pool="all", allNodes=True, generation=9)
    why = why_not(reachable_devices, [*WORLD, *changes, again, claim("c", *rows)])
    assert why.startswith("the devices were changed too often to try all versions")


def test_a_class_that_was_never_observed_is_not_examined() -> None:
    requests = [exactly(deviceClassName="hidden")]
    why = why_not(copied_results, [*_world(), claim("c", result("D1"), requests=requests)])
    assert why.startswith("the class of a request was not observed")


def test_a_result_for_another_request_is_not_examined_for_copies() -> None:
    why = why_not(copied_results, [*_world(), claim("c", result("D1", request="z"))])
    assert why.startswith("a result names a request that its claim lacks")

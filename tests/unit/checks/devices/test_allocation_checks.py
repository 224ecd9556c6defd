"""Each promise about an allocation: what breaks it is named, and nothing else is."""

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import findings, verdicts
from harness.checks.devices import (
    allocation_judging,
    device_catalogue,
    granted_devices,
    reachable_devices,
    requested_devices,
)
from harness.checks.holds import hold_history
from harness.history import plans
from tests.histories import building, judged_runs, language, placements
from tests.histories.placements import (
    claim,
    device,
    device_class,
    exactly,
    gone,
    listed,
    node,
    on,
    opaque,
    piece,
    result,
)
from tests.histories.words import placement_words
from tests.support import text_tables

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
Events = Sequence[placements.Event | None]
NUMA = f"device.attributes['{placements.DRIVER}'].numa"
ATTRIBUTE = f"{placements.DRIVER}/numa"
D1, D2 = (device(name, attributes={"numa": numa}) for numa, name in enumerate(["D1", "D2"]))
SHARED = device("S", allowMultipleAllocations=True, capacity={"memory": "8Gi"})
WORLD = [listed(node("n1", zone="a")), listed(node("n2", zone="b")), listed(device_class())]


def judge(
    check: Any,
    events: Events,
    plan: plans.Plan | None = None,
) -> verdicts.CheckResult:
    return judged_runs.examined(check.judge(placements.evidence(events, plan)))


def why_not(check: Any, events: Events, *, gap: str = "") -> str:
    answer = check.judge(placements.evidence(events, gap=gap))
    assert isinstance(answer, verdicts.NotExamined), answer
    return answer.reason


def _world(*pieces: placements.Event) -> list[placements.Event]:
    return [*WORLD, *map(listed, pieces or [piece(D1, D2, SHARED)])]


MATCH = [{"matchAttribute": ATTRIBUTE}]
TWO = [exactly("r"), exactly("q")]
ALL = [exactly(allocationMode="All")]
TOLERATIONS = [
    {"key": "a", "operator": "Exists"},
    {"key": "b", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5},
]
READY, FAILING = {"bindingConditions": ["ready"]}, {"bindingFailureConditions": ["no"]}
WORDS: dict[str, Any] = {
    # devices
    "D1": D1,
    "D2": D2,
    # selectors and constraints
    "NUMA_1": f"{NUMA} == 1",
    "MATCH": MATCH[0],
    "MATCH_Q": {**MATCH[0], "requests": ["q"]},
    "MATCH_R": {**MATCH[0], "requests": ["r"]},
    "DISTINCT": {"distinctAttribute": ATTRIBUTE},
    # fields of devices, results and requests
    "NUMA0": {"attributes": {"numa": 0}},
    "NUMA1": {"attributes": {"numa": 1}},
    "SHAREABLE": {"allowMultipleAllocations": True},
    "FULL_NAME": {"capacity": {"requests": {"gpu.example/memory": "2Gi"}}},
    "FULL_AMOUNT": {"consumedCapacity": {"gpu.example/memory": "8Gi"}},
    "NO_AMOUNTS": {"consumedCapacity": {}},
    "CORES": {"consumedCapacity": {"cores": "1"}},
    "TOLERATIONS": {"tolerations": TOLERATIONS},
    "FIRST_ONE": {"tolerations": TOLERATIONS[:1]},
    "ANOTHER_DURATION": {
        "tolerations": [TOLERATIONS[0], {**TOLERATIONS[1], "tolerationSeconds": 6}]
    },
    "KEY": {"tolerations": [{"key": "k"}]},
    "FOR_NO_TIME": {"tolerations": [{"key": "k", "tolerationSeconds": 0}]},
    "DEFAULTS": {"tolerations": [{"key": "k", "operator": "Equal", "value": ""}]},
    "READY": READY,
    "FAILING": FAILING,
    "CONDITIONS": READY | FAILING,
    # slices and classes
    "BIG": piece(device("B", capacity={"memory": "4Gi"}), name="b", pool="n2"),
    "AWAITED": piece(device("A", **READY, **FAILING), name="awaited", pool="n2"),
    "EACH": piece(device("P", nodeName="n2"), pool="each", name="e", perDeviceNodeSelection=True),
    "BINDING": piece(device("W", bindsToNode=True), pool="all", name="w", allNodes=True),
    "CONFIGURED": device_class(name="house", config=[opaque("house")]),
}
CHECKS = {
    check.name: check
    for check in (
        requested_devices.SELECTED_DEVICES,
        requested_devices.CLAIM_CONSTRAINTS,
        requested_devices.REQUESTED_RESULTS,
        granted_devices.GRANTED_ACCESS,
        granted_devices.GRANTED_SHARES,
        granted_devices.COPIED_RESULTS,
        reachable_devices.REACHABLE_DEVICES,
        granted_devices.DISTINCT_DEVICES,
    )
}
CASES = [
    pytest.param(CHECKS[name], history, " ".join(mistake), id=f"{name}: {title}")
    for name, (title, history, *mistake) in text_tables.rows(__file__, "allocation_cases.txt")
]


@pytest.mark.parametrize(("check", "history", "problem"), CASES)
def test_what_breaks_a_promise_is_named(check: Any, history: str, problem: str) -> None:
    found = judge(check, [*_world(), *placement_words.history(history, WORDS)])
    assert found.examined_count == 1
    assert (found.verdict, found.violation_count) == (INVALID if problem else VALID, bool(problem))
    for violation in found.violations:
        assert problem in violation.summary
        assert problem in violation.text
        assert "was allocated gpu.example/" in violation.text
        assert [item.name for item in violation.objects] == ["c"]


@pytest.mark.parametrize(
    "check",
    [
        requested_devices.SELECTED_DEVICES,
        requested_devices.CLAIM_CONSTRAINTS,
        granted_devices.GRANTED_SHARES,
        granted_devices.COPIED_RESULTS,
        reachable_devices.REACHABLE_DEVICES,
    ],
    ids=lambda check: str(check.name),
)
def test_a_device_that_no_slice_has_is_not_examined(check: Any) -> None:
    """Another check says that it does not exist."""
    why = why_not(check, [*WORLD, claim("c", result("D1"), constraints=MATCH)])
    assert why.startswith("a device was in no slice that was observed")


@pytest.mark.parametrize(
    ("check", "resource"),
    [
        (requested_devices.SELECTED_DEVICES, "deviceclasses"),
        (requested_devices.CLAIM_CONSTRAINTS, "resourceslices"),
        (granted_devices.GRANTED_SHARES, "resourceslices"),
        (granted_devices.COPIED_RESULTS, "resourceslices"),
        (granted_devices.COPIED_RESULTS, "deviceclasses"),
        (reachable_devices.REACHABLE_DEVICES, "nodes"),
    ],
)
def test_a_gap_may_hide_the_version_that_would_explain_it(check: Any, resource: str) -> None:
    why = why_not(check, [*_world(), claim("c", result("D1"), selector=on("n2"))], gap=resource)
    assert why.startswith(f"versions of {resource} may be missing")


def test_a_constraint_of_an_unknown_kind_holds() -> None:
    event = claim("c", result("D1"), constraints=[{"requests": ["r"]}])
    assert judge(requested_devices.CLAIM_CONSTRAINTS, [*_world(), event]).verdict is VALID


def test_a_selector_that_the_judge_does_not_know_is_not_examined() -> None:
    known = claim("a", result("D1"))
    strange = claim("c", result("D1"), requests=[exactly("r", "ip('1.1.1.1').family() == 4")])
    assert "cannot evaluate ip(" in why_not(
        requested_devices.SELECTED_DEVICES, [*_world(), strange]
    )
    found = judge(requested_devices.SELECTED_DEVICES, [*_world(), known, strange])
    assert (found.verdict, found.examined_count) == (VALID, 1)
    assert "1 not examined: this judge cannot evaluate ip('1.1.1.1')" in found.reason


def test_a_stale_list_may_explain_what_is_not_all() -> None:
    stale = plans.PlannedFault(name="f", kind="stale-list", carrier="server", text="stale")
    plan = msgspec.structs.replace(building.plan(), faults=[stale])
    events = [*_world(), claim("c", result("D1"), requests=ALL, selector=on("n1"))]
    assert judge(requested_devices.REQUESTED_RESULTS, events, plan).verdict is VALID
    assert judge(requested_devices.REQUESTED_RESULTS, events).verdict is INVALID


def test_the_first_the_worst_and_the_last_are_in_full_and_all_are_counted() -> None:
    """The worst one has most wrong requests."""
    wrong = [claim(f"c{number:03d}", result("D1", request="z")) for number in range(300)]
    worst = claim("worst", *[result("D1", request=name) for name in "xyz"], requests=TWO)
    found = judge(
        requested_devices.REQUESTED_RESULTS, [*_world(), *wrong[:150], worst, *wrong[150:]]
    )
    assert (found.examined_count, found.violation_count) == (301, 301)
    names = [violation.objects[0].name for violation in found.violations]
    first = [f"c{number:03d}" for number in range(findings.IN_FULL_MAX)]
    assert names == [*first, "worst", "c299"]
    assert len(found.others) == findings.OTHERS_MAX
    assert found.reason.startswith("301 of 301 allocations wrong, the first: claim c000: ")
    assert "; the worst: claim worst: " in found.reason
    assert "; the last: claim c299: " in found.reason


def test_an_allocation_is_judged_once_and_another_one_again() -> None:
    """A version without change is none; one that was freed and allocated again is."""
    one = claim("c", result("D1"))
    found = judge(granted_devices.GRANTED_ACCESS, [*_world(), one, one, one, claim("c"), one])
    assert found.examined_count == 2


def test_claims_without_constraints_say_nothing_of_them() -> None:
    plain, other = claim("c", result("D1")), claim("d", result("D2"))
    why = why_not(requested_devices.CLAIM_CONSTRAINTS, [*_world(), plain])
    assert why == "no claim with constraints was allocated, so nothing was examined"
    asking = claim("e", result("D1"), constraints=MATCH)
    both = judge(requested_devices.CLAIM_CONSTRAINTS, [*_world(), plain, asking, other])
    assert (both.examined_count, both.unexamined_count) == (1, 0)


def test_in_a_cluster_of_one_node_the_device_of_a_node_still_needs_its_name() -> None:
    events = [node("n1"), device_class(), piece(D1), claim("c", result("D1"))]
    [violation] = judge(reachable_devices.REACHABLE_DEVICES, events).violations
    assert "does not name the only node from which its devices can be used: n1" in violation.text


def test_in_a_cluster_of_one_node_a_selector_can_be_too_narrow() -> None:
    of_all = piece("C", pool="all", allNodes=True)
    events = [
        node("n1"),
        device_class(),
        of_all,
        claim("c", result("C", pool="all"), selector=on("n1")),
    ]
    [violation] = judge(reachable_devices.REACHABLE_DEVICES, events).violations
    assert "does not admit another node" in violation.text


def test_devices_that_changed_too_often_for_all_combinations_are_not_examined() -> None:
    changes = [
        piece("A", "B", pool="all", allNodes=True, generation=number) for number in range(1, 9)
    ]
    for number, event in enumerate(changes):
        for item in event.obj["spec"]["devices"]:
            item["attributes"] = {"number": {"int": number}}
    rows = [result("A", pool="all"), result("B", pool="all")]
    judge(reachable_devices.REACHABLE_DEVICES, [*WORLD, *changes, claim("c", *rows)])
    again = piece("A", "B", pool="all", allNodes=True, generation=9)
    why = why_not(reachable_devices.REACHABLE_DEVICES, [*WORLD, *changes, again, claim("c", *rows)])
    assert why.startswith("the devices were changed too often to try all versions")


def test_a_class_that_was_never_observed_is_not_examined() -> None:
    requests = [exactly(deviceClassName="hidden")]
    why = why_not(
        granted_devices.COPIED_RESULTS, [*_world(), claim("c", result("D1"), requests=requests)]
    )
    assert why.startswith("the class of a request was not observed")


def test_a_result_for_another_request_is_not_examined_for_copies() -> None:
    event = claim("c", result("D1"), result("D2", request="z"))
    why = why_not(granted_devices.COPIED_RESULTS, [*_world(), event])
    assert why.startswith("a result names a request that its claim lacks")


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("a+D1 [ a~ ] a+D1", [1, 3]),
        ("a+D1 b+D2 a^p a=D2", [1, 2, 4]),
        ("a+D1 [ a-D1 ] a+D1", [1, 3]),
        ("a+D1 b+D1 b~ c+D1", [1, 2, 4]),
    ],
)
def test_each_change_of_an_allocation_is_one(text: str, versions: list[int]) -> None:
    history = hold_history.fold(language.observe(text))
    made = allocation_judging.Allocations(history, device_catalogue.DeviceCatalogue())
    assert made.versions.tolist() == versions


def _asked(case: allocation_judging.Case) -> allocation_judging.Wrong:
    return allocation_judging.Wrong(f"{case.grant.results[0].device} {case.version}")


def test_equal_allocations_share_an_answer_only_if_the_same_was_known() -> None:
    for seed in range(30):
        stream = random.Random(seed)
        events = [
            claim(f"c{number}", result(f"D{stream.randrange(3)}"))
            if stream.random() < 0.6
            else piece(f"E{number}")
            for number in range(16)
        ]
        made = placements.evidence(events)[allocation_judging.Allocations]
        answers = made.ask(_asked)
        for row, version in enumerate(made.versions.tolist()):
            answer = answers.of(row)
            assert isinstance(answer, allocation_judging.Wrong)
            asked, at = answer.text.split()
            assert (
                asked
                == events[version - 1].obj["status"]["allocation"]["devices"]["results"][0][
                    "device"
                ]
            )
            between = events[min(int(at), version) - 1 : max(int(at), version)]
            assert not [event for event in between if event.obj["kind"] == "ResourceSlice"]


def test_news_of_several_watches_are_put_in_order() -> None:
    catalogue = device_catalogue.DeviceCatalogue()
    catalogue.see_slice(placements.observed(piece("D1", "D2"), 5))
    catalogue.see_slice(placements.observed(piece("D1", "D2"), 6))
    catalogue.see_node(placements.observed(node("n1"), 3))
    assert catalogue.news == [3, 5, 5]
    assert [catalogue.epoch(version) for version in (3, 4, 5, 6, 7)] == [0, 1, 1, 3, 3]
    catalogue.see_node(placements.observed(node("n2"), 4))
    assert catalogue.news == [3, 4, 5, 5]
    for resource in ("nodes", "resourceslices"):
        catalogue.see_gap(language.gap(resource, 5))
    assert catalogue.gaps == {"nodes", "resourceslices"}


def test_a_device_is_shareable_if_it_was_in_any_version() -> None:
    catalogue = device_catalogue.DeviceCatalogue()
    for version, event in enumerate((piece("S", "D1"), piece(SHARED, "D1")), start=1):
        catalogue.see_slice(placements.observed(event, version))
    answers = [catalogue.is_shareable(f"gpu.example/n1/{name}") for name in ("S", "D1", "D2")]
    assert answers == [True, False, None]


FAULT = plans.PlannedFault(name="f", kind="delay-events", carrier="server", text="late")
C = claim("c", result("D1"))
SLOTS = {"slots": {"value": "1"}}
COUNTERS = {"nodeName": "n1", "sharedCounters": [{"name": "set", "counters": SLOTS}]}
CONSUMER = placements.device("D1", consumesCounters=[{"counterSet": "set", "counters": SLOTS}])


def judge_existence(
    events: Sequence[placements.Event | None],
    *,
    seen: int = 0,
    faults: Sequence[plans.PlannedFault] = (),
    second_ns: int = 1_000_000_000,
) -> verdicts.CheckResult:
    """The result, with the version of the slices that the scheduler had dealt with; 0: unknown."""
    views = {"c": seen} if seen else {}
    plan = building.plan(faults=faults)
    given = placements.evidence(events, plan, views, second_ns=second_ns)
    return judged_runs.examined(reachable_devices.EXISTING_DEVICES.judge(given))


ON_TWO_NODES = [device("A", nodeName="n1"), device("B", nodeName="n2")]
PIECES: dict[str, Any] = {
    "C": C,
    "CONSUMER": CONSUMER,
    "COUNTERS": piece(name="t", count=2, **COUNTERS),
    "COUNTERS_OF_3": piece(name="t", count=3, **COUNTERS),
    "COUNTERS_AGAIN": piece(name="u", count=3, **COUNTERS),
    "MIXED": piece(*ON_TWO_NODES, name="t", generation=2, perDeviceNodeSelection=True),
}


@pytest.mark.parametrize(
    ("history", "seen", "wrong"), text_tables.cases(__file__, "existing_cases.txt")
)
def test_a_device_is_wrong_if_no_version_that_may_have_been_seen_has_it(
    history: str, seen: str, wrong: str
) -> None:
    found = judge_existence(placement_words.history(history, PIECES), seen=int(seen))
    assert (found.verdict, found.examined_count) == (INVALID if wrong else VALID, 1)
    assert found.violation_count == bool(wrong)
    for violation in found.violations:
        assert "gpu.example/n1/D1 could not be allocated in any version" in violation.text


def test_a_scheduler_without_faults_lags_by_a_limited_time() -> None:
    """Half a minute after the device was withdrawn it may be allocated, a minute after not."""
    events = [piece("D1"), piece("D2"), None, C]
    lag_ns = int(reachable_devices.LAG_S * 1e9)
    assert judge_existence(events, second_ns=lag_ns // 4).verdict is VALID
    assert judge_existence(events, second_ns=lag_ns).verdict is INVALID
    assert judge_existence(events, second_ns=lag_ns, faults=[FAULT]).verdict is VALID


def test_of_equal_allocations_each_is_judged_by_its_own_time() -> None:
    found = judge_existence([piece("D1"), claim("a", result("D1")), piece("D2"), C], seen=3)
    assert [item.objects[0].name for item in found.violations] == ["c"]


def test_with_faults_only_what_was_never_listed_is_wrong() -> None:
    withdrawn = [piece("D1", count=2), gone(piece("D1")), C]
    assert judge_existence(withdrawn, seen=2, faults=[FAULT]).verdict is VALID
    assert judge_existence([piece("D2"), C], faults=[FAULT]).verdict is INVALID


def test_a_gap_may_hide_the_device() -> None:
    why_not(reachable_devices.EXISTING_DEVICES, [piece("D2"), C], gap="resourceslices")

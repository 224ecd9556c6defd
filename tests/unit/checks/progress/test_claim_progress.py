"""Objects that are stuck at the end of a run, others that may wait, and doubtful ones."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.observed import folders, observations
from harness.checks.progress import claim_progress, stuck_objects, world_states
from harness.history import plans, records
from harness.model.objects import Object
from tests.histories import judged_runs, language, worlds
from tests.histories.words import world_words
from tests.histories.worlds import World
from tests.support import text_tables

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
D0, D1 = worlds.device("n", 0), worlds.device("n", 1)
TWO_DEVICES = [worlds.devices_of("n", 2)]


def judge(
    world: World | Sequence[records.Body],
    *,
    seconds: float = 60.0,
    plan: plans.Plan | None = None,
    phases: Sequence[records.Phase] | None = None,
) -> verdicts.CheckResult:
    """The result about a run that ended in this world, or has these records."""
    done = worlds.phases(seconds=seconds) if phases is None else phases
    given = worlds.judged(world, plan=plan or worlds.plan(), phases=done)
    return judged_runs.examined(claim_progress.judge(given))


FIELDS: dict[str, Object] = {
    "ADMIN": {"adminAccess": True},
    "UNREADABLE": {"selectors": [{"cel": {"expression": "isNewIn2030(device)"}}]},
    "OTHER_CLASS": {"deviceClassName": "other"},
    "AWAITED": {"bindingConditions": ["ready"]},
}


def cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "claim_progress.txt", part)


@pytest.mark.parametrize(("text", "summary"), cases("stuck"))
def test_what_is_stuck(text: str, summary: str) -> None:
    result = judge(world_words.world(text, FIELDS))
    expected = [f"STUCK: {item}" for item in summary.split(" ; ")]
    assert (result.verdict, result.violation_count) == (INVALID, len(expected))
    assert [item.summary for item in result.violations] == expected
    assert all(item.text.startswith("STUCK: ") for item in result.violations)
    assert all(item.resource_versions and item.objects for item in result.violations)
    assert result.reason.startswith(expected[0])
    assert result.reason.endswith("; no progress for 60.0 s")


RUNNING = worlds.pod("q", claim="b", phase="Running", node="n")
LEFT_BY_KUBELET = {
    "does not run": World(
        pods=[worlds.pod("p", claim="a", node="n")],
        claims=[worlds.claim("a", D0, users=["p"])],
        slices=TWO_DEVICES,
    ),
    "is not removed": World(pods=[worlds.pod("p", claim="a", node="n", deleting=True)]),
}


@pytest.mark.parametrize(("summary", "world"), LEFT_BY_KUBELET.items())
def test_what_our_own_kubelet_has_left_undone_is_not_the_subjects(
    summary: str, world: World
) -> None:
    result = judge(world)
    assert (result.verdict, result.violations) == (UNKNOWN, [])
    assert f"pod p {summary}" in result.reason
    assert "our own kubelet" in result.reason


@pytest.mark.parametrize("world", LEFT_BY_KUBELET.values(), ids=LEFT_BY_KUBELET)
@pytest.mark.parametrize(
    "changes",
    [
        {"defects": ["own-device-refused"]},
        {"settings": {**worlds.SETTINGS, "subject": {"driver": "command=driver"}}},
    ],
)
def test_a_kubelet_or_driver_that_is_tried_is_judged(world: World, changes: dict[str, Any]) -> None:
    plan = msgspec.structs.replace(worlds.plan(), **changes)
    assert judge(world, plan=plan).verdict is INVALID


def test_a_bound_pod_without_one_of_its_claims_is_not_left_to_the_kubelet() -> None:
    pod = worlds.pod("p", claim="a", node="n")
    pod["spec"]["resourceClaims"] += worlds.pod("p", claim="b")["spec"]["resourceClaims"]
    claims = [worlds.claim("a", D0, users=["p"]), worlds.claim("b", D1)]
    result = judge(World(pods=[pod], claims=claims, slices=TWO_DEVICES))
    assert "STUCK: pod p does not run" in [item.summary for item in result.violations]


def test_beside_what_the_kubelet_has_left_the_others_are_judged() -> None:
    world = World(
        pods=[worlds.pod("p", claim="a", node="n", deleting=True), worlds.pod("q")],
        slices=TWO_DEVICES,
    )
    result = judge(world)
    assert [item.summary for item in result.violations] == ["STUCK: pod q has no claim"]


@pytest.mark.parametrize("text", cases("may wait"))
def test_what_may_wait(text: str) -> None:
    _may_wait(world_words.world(text))


def test_a_pod_may_wait_whose_claim_has_too_many_users() -> None:
    users = [f"u{number}" for number in range(256)]
    running = [worlds.pod(name, claim="b", phase="Running", node="n") for name in users]
    _may_wait(
        World(
            pods=[worlds.pod("p", claim="b"), *running],
            claims=[worlds.claim("b", D0, users=users)],
            slices=TWO_DEVICES,
        )
    )


def _may_wait(world: World) -> None:
    result = judge(world)
    assert (result.verdict, result.violations) == (VALID, [])
    assert "nothing is stuck" in result.reason
    assert ", 2 wait" not in result.reason


# ------------------------------------------------------------------------------ doubts


@pytest.mark.parametrize("text", cases("doubtful"))
def test_what_an_observer_cannot_know_is_unknown(text: str) -> None:
    result = judge(world_words.world(text, FIELDS))
    assert result.verdict is UNKNOWN
    assert result.reason.startswith("pod p ")
    assert "1 pod not examined" in result.reason


@pytest.mark.parametrize("text", cases("doubtful"))
def test_beside_a_doubtful_pod_the_others_are_examined(text: str) -> None:
    answer = judge(world_words.world(f"{text} ; pod q", FIELDS))
    assert answer.verdict is INVALID
    assert [item.summary for item in answer.violations] == ["STUCK: pod q has no claim"]


def test_a_selector_is_known_to_be_satisfied_by_what_it_was_given() -> None:
    before = worlds.claim("a", D1, **FIELDS["UNREADABLE"])
    world = World(pods=[worlds.pod("p", claim="a")], claims=[before], slices=TWO_DEVICES)
    body = world.observations()
    later = World(
        pods=world.pods, claims=[worlds.claim("a", **FIELDS["UNREADABLE"])], slices=TWO_DEVICES
    ).observations()
    changed = [
        item for item in later if not isinstance(item, records.Listed) or item.purpose == "final"
    ]
    seen = [item for item in body if isinstance(item, records.Listed) and item.purpose == "first"]
    seen += [
        item for item in body if isinstance(item, records.Observation) and item.type == "ADDED"
    ]
    result = judge([*seen, *changed])
    assert result.reason.startswith(f"STUCK: pod p waits while {D1} is idle")


# ------------------------------------------------------------------------------ time

WAITS = World(pods=[worlds.pod("p", claim="a")], claims=[worlds.claim("a")], slices=TWO_DEVICES)


@pytest.mark.parametrize(("seconds", "verdict"), [(9.9, UNKNOWN), (10.0, INVALID)])
def test_what_could_go_on_has_its_time(seconds: float, verdict: verdicts.Verdict) -> None:
    result = judge(WAITS, seconds=seconds)
    assert result.verdict is verdict
    assert ("before the 10 s that they have" in result.reason) is (verdict is UNKNOWN)


@pytest.mark.parametrize(("healed", "verdict"), [(40.0, INVALID), (55.0, UNKNOWN)])
def test_the_time_begins_when_the_faults_are_healed(
    healed: float, verdict: verdicts.Verdict
) -> None:
    phases = worlds.phases(seconds=60, healed=healed)
    result = judge(WAITS, plan=worlds.plan(faults=True), phases=phases)
    assert result.verdict is verdict


@pytest.mark.parametrize(("seconds", "verdict"), [(60, INVALID), (1, UNKNOWN)])
def test_a_crash_of_the_scheduler_leaves_pods_stuck(
    seconds: float, verdict: verdicts.Verdict
) -> None:
    phases = worlds.phases(seconds=seconds)
    [at] = [number for number, item in enumerate(phases) if item.name == claim_progress.LOAD]
    crash_ns = phases[at + 1].ts_ns
    crashed = records.Phase(name=claim_progress.CRASHED, detail="exit code 1", ts_ns=crash_ns)
    result = judge(WAITS, phases=[*phases[: at + 1], crashed, *phases[at + 1 :]])
    assert result.verdict is verdict


def test_a_pod_that_starts_gives_the_others_time() -> None:
    first, *_, last = (
        item
        for item in World(pods=[RUNNING]).observations()
        if isinstance(item, records.Observation)
    )
    body = WAITS.observations()
    body.insert(3, msgspec.structs.replace(first, ts_ns=55 * worlds.SECOND_NS))
    result = judge([*body, last])
    assert (result.verdict, "6.0 s after the last progress" in result.reason) == (UNKNOWN, True)


def test_the_time_begins_when_the_scheduler_has_started() -> None:
    """It may be started only after the load has ended."""
    names = [("load", 0), ("starting the scheduler", 1), ("scheduling", 52), ("stopping", 61)]
    late = [records.Phase(name=name, ts_ns=at * worlds.SECOND_NS) for name, at in names]
    result = judge(WAITS, phases=late)
    assert (result.verdict, "9.0 s after the last progress" in result.reason) == (UNKNOWN, True)


def test_a_pod_with_claims_on_two_nodes_cannot_be_bound() -> None:
    """Nor can one with devices of a node and of none."""
    entries = [{"name": name, "resourceClaimName": name} for name in "ab"]
    pod = worlds.pod("p", claim="a")
    pod["spec"]["resourceClaims"] = entries
    claims = [
        worlds.claim("a", worlds.device("n", 0), users=["p"]),
        worlds.claim("b", worlds.device("m", 0), users=["p"]),
    ]
    slices = [worlds.devices_of("n", 1), worlds.devices_of("m", 1)]
    result = judge(World(pods=[pod], claims=claims, slices=slices))
    assert (result.verdict, result.reason) == (
        VALID,
        "0 pods ran; nothing is stuck, 1 wait as no device is left for them",
    )
    del slices[1]["spec"]["nodeName"]
    slices[1]["spec"]["allNodes"] = True
    result = judge(World(pods=[pod], claims=claims, slices=slices))
    assert result.violations[0].summary == "STUCK: pod p is not bound"


def test_pods_and_claims_are_examined() -> None:
    world = World(pods=[RUNNING], claims=[worlds.claim("b", D0, users=["q"]), worlds.claim("c")])
    result = judge(world)
    assert (result.examined_count, result.reason) == (3, "1 pods ran; nothing is stuck")


PHASES = worlds.phases(seconds=60)


@pytest.mark.parametrize(
    ("phases", "faults", "reason"),
    [
        (PHASES, True, "the faults were not healed"),
        *(
            (
                [*PHASES, records.Phase(name=name, ts_ns=2, detail="it died")],
                False,
                f"the run had no time for progress ({name}: it died)",
            )
            for name in ("ended early", "found")
        ),
        (PHASES[:2], False, "the load did not end"),
        (PHASES[:4], False, "the run was not brought to its end"),
    ],
)
def test_a_run_that_did_not_come_to_rest_is_unknown(
    phases: Sequence[records.Phase], faults: bool, reason: str
) -> None:
    result = judge(WAITS, plan=worlds.plan(faults=faults), phases=phases)
    assert (result.verdict, result.reason) == (UNKNOWN, reason)


def test_an_unknown_final_state_is_unknown() -> None:
    body = [
        item
        for item in WAITS.observations()
        if not (isinstance(item, records.Listed) and item.purpose == "final")
    ]
    result = judge(body)
    assert (result.verdict, result.reason) == (UNKNOWN, "the final state of the pods is not known")


def test_a_run_without_pods_is_unknown() -> None:
    assert judge(World(slices=TWO_DEVICES)).reason == "no pod was observed"


# ------------------------------------------------------- nodes that were deleted


def _node(
    name: str, kind: str, version: int, *, labels: dict[str, str] | None = None
) -> records.Observation:
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), "labels": labels}
    return language.observation("nodes", version, {"metadata": meta}, kind, ts_ns=1)


@pytest.mark.parametrize("is_gone", [False, True])
@pytest.mark.parametrize(
    "pod",
    [
        worlds.pod("p", node="n"),
        worlds.pod("p", node="n", deleting=True),
        worlds.pod("p", claim="a"),
    ],
    ids=["bound", "deleted", "waiting"],
)
def test_nothing_goes_on_where_a_node_was_deleted(pod: Object, is_gone: bool) -> None:
    claims = [worlds.claim("a")] if "nodeName" not in pod["spec"] else []
    world = World(pods=[pod], claims=claims, slices=TWO_DEVICES)
    state = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
    steps = [_node("n", "ADDED", 1), _node("m", "ADDED", 2)]
    steps += [_node("n", "DELETED", 3)] if is_gone else []
    folders.fold(steps, state)
    found = stuck_objects.find_pods(state, worlds.SETTINGS)
    assert len(found.stuck) == (0 if is_gone else 1)
    assert found.waiting < 2


@pytest.mark.parametrize(("group", "has_claim"), [("g", True), ("other", False)])
def test_a_pod_uses_the_claims_of_its_own_group(group: str, has_claim: bool) -> None:
    pod = worlds.pod("p", generated="a")
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    made = worlds.claim("a", owner="g")
    made["metadata"]["ownerReferences"][0]["kind"] = "PodGroup"
    world = World(pods=[pod], claims=[made], slices=TWO_DEVICES)
    state = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
    meta = {"name": "g", "namespace": worlds.NAMESPACE, "uid": "uid-g", "resourceVersion": "9"}
    seen = language.observation(observations.POD_GROUPS, 9, {"metadata": meta}, ts_ns=1)
    folders.fold([seen], state)
    [stuck] = stuck_objects.find_pods(state, worlds.SETTINGS).stuck
    assert ("has no claim" in stuck.summary) is not has_claim


# --------------------------------------------------------------------- a claim that is removed


@pytest.mark.parametrize(
    ("finalizer", "deleting", "verdict"),
    [(True, False, VALID), (True, True, INVALID), (False, False, INVALID)],
)
@pytest.mark.parametrize("owner", ["", "p"])
def test_a_pod_whose_claim_was_removed_in_spite_of_its_finalizer_is_not_stuck(
    finalizer: bool, deleting: bool, verdict: verdicts.Verdict, owner: str
) -> None:
    world = World(pods=[worlds.pod("p", claim="a", node="n")], slices=TWO_DEVICES)
    lost = worlds.claim("a", D0, users=["p"], owner=owner, finalizer=finalizer, deleting=deleting)
    body = [*world.observations(), worlds.removed(lost)]
    found = judge(body)
    assert found.verdict is verdict
    told = "1 not examined: the API server removed claims in spite of their finalizers"
    assert (told in found.reason) is (verdict is VALID)


def test_pods_and_claims_that_lack_a_removed_claim_are_counted_together() -> None:
    left, pod = worlds.claim("b", D1, users=["q"]), worlds.pod("p", claim="a", node="n")
    world = World(pods=[pod], claims=[left], slices=TWO_DEVICES)
    lost = [worlds.claim(name, D0, users=[user], finalizer=True) for name, user in ("ap", "cq")]
    found = judge([*world.observations(), *map(worlds.removed, lost)])
    assert "2 not examined: the API server removed claims" in found.reason


# --------------------------------------------------------------------- where a pod may run


@pytest.mark.parametrize(
    ("labels", "selects", "has_node", "verdict"),
    [
        ({"disk": "fast"}, "fast", True, INVALID),
        ({"disk": "fast"}, "slow", True, VALID),  # no node will do
        ({"disk": "fast"}, "slow", False, VALID),
        ({"disk": "fast"}, "fast", False, UNKNOWN),  # where its device can be reached is not known
    ],
)
def test_a_pod_with_an_allocated_claim_must_be_bound_where_it_may_run(
    labels: dict[str, str], selects: str, has_node: bool, verdict: verdicts.Verdict
) -> None:
    pod = worlds.pod("p", claim="a")
    pod["spec"]["nodeSelector"] = {"disk": selects}
    piece = worlds.devices_of("n", 2)
    if not has_node:
        del piece["spec"]["nodeName"]
        piece["spec"]["allNodes"] = True
    world = World(pods=[pod], claims=[worlds.claim("a", D0, users=["p"])], slices=[piece])
    node = _node("n", "ADDED", 7, labels=labels)
    body = world.observations()
    body.insert(4, node)
    assert judge(body).verdict is verdict

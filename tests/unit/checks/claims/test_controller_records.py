"""Pods and claims as the claim controller writes them, and what its check says of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claims import controller_records
from harness.history import records
from tests.histories import building, claim_judging, judged_runs, language

SPACE, POD = "tests", "uid-pod"


def pod(
    version: int, *, phase: str = "Running", uid: str = POD, node: str = "", **recorded: str | None
) -> records.Observation:
    statuses = [
        {"name": name} | ({"resourceClaimName": claim} if claim else {})
        for name, claim in recorded.items()
    ]
    meta = {
        "name": "pod",
        "namespace": SPACE,
        "uid": uid,
        "resourceVersion": str(version),
        "managedFields": _managed("recorder", "status", "resourceClaimStatuses"),
    }
    status = {"phase": phase, "resourceClaimStatuses": statuses}
    return language.observation(
        "pods", version, {"metadata": meta, "spec": {"nodeName": node}, "status": status}
    )


def _managed(manager: str, *path: str) -> list[dict[str, Any]]:
    owned: dict[str, Any] = {}
    for name in reversed(path):
        owned = {f"f:{name}": owned}
    return [{"manager": manager, "operation": "Update", "fieldsV1": owned}]


def claim(
    version: int,
    name: str,
    *,
    entry: str = "device",
    reserved: Sequence[str] = (),
    deleting: bool = False,
    controlled: bool | None = True,
    kind: str = "MODIFIED",
    owner: str = POD,
    finalized: bool = False,
) -> records.Observation:
    """A version of a claim that was generated for the pod; `finalized`: it is allocated, too.

    `controlled`: whether the pod is its controller or only an owner; None: it has no owner.
    """
    meta: dict[str, Any] = {
        "name": name,
        "namespace": SPACE,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "annotations": {"resource.kubernetes.io/pod-claim-name": entry},
        "ownerReferences": [{"kind": "Pod", "name": "pod", "uid": owner, "controller": controlled}],
        "managedFields": _managed("creator", "spec"),
    }
    if controlled is None:
        del meta["ownerReferences"]
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    users = [{"resource": "pods", "name": uid, "uid": uid} for uid in reserved]
    status: dict[str, Any] = {"reservedFor": users}
    if finalized:
        meta["finalizers"] = ["resource.kubernetes.io/delete-protection"]
        status["allocation"] = {}
    return language.observation(
        "resourceclaims", version, {"metadata": meta, "status": status}, kind
    )


def judge(
    observed: Iterable[records.Body],
    *,
    undisturbed: bool = False,
    applied: Sequence[records.FaultApplied] = (),
) -> verdicts.CheckResult:
    check = controller_records.CHECK
    faults = [] if undisturbed else [building.fault("lose-response")]
    plan = claim_judging.plan(faults)
    evidence = claim_judging.evidence(observed, [check], of=plan, applied=applied)
    return judged_runs.examined(check.judge(evidence))


def test_one_claim_for_each_entry_is_valid() -> None:
    result = judge(
        [
            pod(1, phase="Pending"),
            claim(2, "a", entry="one"),
            claim(3, "b", entry="two"),
            pod(4, one="a", two="b"),
            claim(5, "a", entry="one", reserved=[POD]),
            pod(6, phase="Succeeded", one="a", two="b"),
            claim(7, "a", entry="one"),
        ]
    )
    assert result.verdict is verdicts.Verdict.VALID
    assert result.reason == "generated claims: 2, for 2 entries of pods"


def test_without_a_pod_nothing_was_examined() -> None:
    assert judge([]).verdict is verdicts.Verdict.UNKNOWN


# ------------------------------------------------------------------------- lost records


def test_a_record_that_vanishes_is_found() -> None:
    result = judge([pod(1, one="a", two="b"), pod(2, two="c"), pod(3, one="a")])
    (violation,) = result.violations
    assert violation.summary == "pod pod lost the record of one by recorder"
    assert (
        "which resourceVersion 2 dropped by recorder; records were dropped 2 times"
        in violation.text
    )
    assert violation.resource_versions == [2, 3]


@pytest.mark.parametrize(("deleting", "count"), [(False, 0), (True, 1)])
def test_nobody_is_blamed_if_a_claim_was_removed_in_spite_of_its_finalizer(
    deleting: bool, count: int
) -> None:
    removed = claim(3, "a", kind="DELETED", finalized=True, deleting=deleting)
    seen = [claim(1, "a"), pod(2, one="a", two="b"), removed, pod(4, two="b")]
    assert judge(seen).violation_count == count


@pytest.mark.parametrize(("kind", "count"), [("evict-by-old-client", 0), ("lose-response", 1)])
def test_nobody_is_blamed_for_a_pod_that_a_fault_has_stripped(kind: str, count: int) -> None:
    hit = records.FaultApplied(
        fault="f",
        kind=kind,
        client="c",
        resource="pods",
        name="pod",
        uid=POD,
        begun_ns=1,
        ended_ns=2,
    )
    assert judge([pod(1, one="a"), pod(2)], applied=[hit]).violation_count == count


# ----------------------------------------------------------------------- after the end


def _ended(*later: records.Body) -> verdicts.CheckResult:
    return judge([pod(1), claim(2, "a", reserved=[POD]), pod(3, phase="Failed"), *later])


def test_one_claim_after_the_end_may_come_from_a_late_view_and_a_second_one_not() -> None:
    late = [claim(4, "a", kind="DELETED"), claim(5, "b"), claim(6, "b", kind="DELETED")]
    assert _ended(*late).verdict is verdicts.Verdict.VALID
    (violation,) = _ended(*late, claim(7, "c")).violations
    assert violation.summary == "pod pod got claims for device after its end by creator"
    assert violation.resource_versions == [5, 7]


@pytest.mark.parametrize("controlled", [False, None])
def test_a_claim_that_its_pod_does_not_control_is_not_the_controllers(
    controlled: bool | None,
) -> None:
    others = [claim(version, f"c{version}", controlled=controlled) for version in (4, 5)]
    result = _ended(*others)
    assert result.verdict is verdicts.Verdict.VALID
    assert result.reason == "generated claims: 1, for 1 entries of pods"


def test_a_reservation_that_comes_and_goes_after_the_end_is_found() -> None:
    once = [claim(4, "a"), claim(5, "a", reserved=[POD]), claim(6, "a")]
    assert _ended(*once).verdict is verdicts.Verdict.VALID
    (violation,) = _ended(*once, claim(7, "a", reserved=[POD])).violations
    assert violation.summary == "pod pod got reservations after its end"
    assert violation.resource_versions == [5, 7]
    gap = language.gap("resourceclaims", 5, 6)  # after it, the claim is still reserved
    assert _ended(*once[:2], gap, claim(7, "a", reserved=[POD])).verdict is verdicts.Verdict.VALID


# ------------------------------------------------------------- after the end was surely known


def _known(uid: str, since: int) -> list[records.Observation]:
    first, second = f"{uid}-first", f"{uid}-second"
    return [
        pod(since, uid=uid, phase="Pending"),
        claim(since + 1, first, owner=uid, reserved=[uid]),
        pod(since + 2, uid=uid, node="n"),
        pod(since + 3, uid=uid, node="n", phase="Succeeded"),
        claim(since + 4, first, owner=uid),
        claim(since + 5, first, owner=uid, kind="DELETED"),
        claim(since + 6, second, owner=uid),
    ]


def _moved(body: Sequence[records.Observation]) -> list[records.Observation]:
    """The same versions, each one revision later."""
    return [
        msgspec.structs.replace(item, resource_version=item.resource_version + 1) for item in body
    ]


def test_two_pods_that_get_a_claim_after_their_known_end_are_found() -> None:
    result = judge([*_known("u", 1), *_known("v", 11)], undisturbed=True)
    assert result.verdict is verdicts.Verdict.INVALID
    assert result.violation_count == 2
    assert result.reason == "pod pod got a claim after its end by creator, and 1 more"
    assert "taken back at 5, and it got claim u-second by creator at 7" in result.violations[0].text


def test_a_pod_with_more_late_claims_is_told_once() -> None:
    more = claim(18, "v-third", owner="v")
    assert judge([*_known("u", 1), *_known("v", 11), more], undisturbed=True).violation_count == 1


def test_the_first_reservation_that_is_taken_back_shows_the_end() -> None:
    bodies = []
    for uid, since in (("u", 1), ("v", 21)):
        body = _known(uid, since)
        other = f"{uid}-other", "other"
        held = claim(since, other[0], entry=other[1], owner=uid, reserved=[uid])
        bodies += [held, pod(since + 1, uid=uid, phase="Pending"), *_moved(body[1:])]
        bodies.append(claim(since + 9, other[0], entry=other[1], owner=uid))
    assert judge(bodies, undisturbed=True).violation_count == 2


def test_a_reservation_that_is_taken_back_before_the_end_shows_nothing() -> None:
    bodies = [_known("u", 1), _known("v", 11)]
    for body in bodies:
        released, ended = body[4], body[3]
        body[3:5] = [
            msgspec.structs.replace(released, resource_version=ended.resource_version),
            msgspec.structs.replace(ended, resource_version=released.resource_version),
        ]
    assert judge([*bodies[0], *bodies[1]], undisturbed=True).verdict is verdicts.Verdict.VALID


def test_one_such_pod_may_be_chance() -> None:
    result = judge(_known("u", 1), undisturbed=True)
    assert result.verdict is verdicts.Verdict.UNKNOWN
    assert "one such pod may be chance" in result.reason


def test_workers_may_wait_where_the_run_disturbs_them() -> None:
    assert judge([*_known("u", 1), *_known("v", 11)]).verdict is verdicts.Verdict.VALID


def test_a_controller_may_not_have_known_the_end_before_the_claim_was_gone() -> None:
    bodies = [_known("u", 1), _known("v", 11)]
    kept = [item for body in bodies for number, item in enumerate(body) if number != 4]
    assert judge(kept, undisturbed=True).verdict is verdicts.Verdict.VALID


def test_a_sync_may_have_waited_for_a_claim_that_was_made_while_the_pod_ran() -> None:
    bodies = [_known(uid, since) for uid, since in (("u", 1), ("v", 21))]
    for body, uid in zip(bodies, "uv", strict=True):
        version = body[2].resource_version
        body[3:] = _moved(body[3:])
        body.insert(3, claim(version + 1, f"{uid}-other", entry="other", owner=uid))
    assert judge([*bodies[0], *bodies[1]], undisturbed=True).verdict is verdicts.Verdict.VALID


def test_records_that_alternate_are_found() -> None:
    names = ["a", "b", "a", "b"]
    result = judge([pod(version, one=name) for version, name in enumerate(names, 1)])
    assert result.reason == "pod pod has alternating records of one by recorder"
    assert judge([pod(version, one=name) for version, name in enumerate("aba", 1)]).reason == (
        "generated claims: 0, for 0 entries of pods"
    )


def test_it_is_owed_by_every_controller_of_a_run_with_traffic() -> None:
    plan = msgspec.structs.replace(
        building.plan(), settings={"traffic": {"users": 1}}, expected_steps=["scheduler"]
    )
    assert controller_records.applies(plan)
    assert controller_records.is_undisturbed(plan)
    explored = msgspec.structs.replace(plan, settings={**plan.settings, "token": "t"})
    assert not controller_records.is_undisturbed(explored)


@pytest.mark.parametrize(
    ("progress_s", "process", "is_owed"),
    [(9.0, "claim-controller", True), (None, "claim-controller", False), (9.0, "scheduler", False)],
)
def test_without_traffic_a_run_to_its_end_owes_it(
    progress_s: float | None, process: str, is_owed: bool
) -> None:
    plan = msgspec.structs.replace(
        building.plan(), progress_s=progress_s, expected_steps=[process], settings={}
    )
    assert controller_records.applies(plan) is is_owed


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"do": "request", "client": "scheduler"}, True),
        ({"do": "kill", "process": "scheduler"}, True),
        ({"do": "request", "client": "claim-controller"}, False),
        ({"do": "deliver", "client": "claim-controller.2"}, False),
        ({"do": "pause", "process": "claim-controller"}, False),
    ],
)
def test_a_controller_that_a_script_holds_may_not_know_the_end_of_a_pod(
    step: dict[str, str], expected: bool
) -> None:
    scripted = {"traffic": {"profile": "script", "steps": [step]}}
    plan = building.plan(settings=scripted, faults=[building.fault("lose-response")])
    assert controller_records.is_undisturbed(plan) is expected

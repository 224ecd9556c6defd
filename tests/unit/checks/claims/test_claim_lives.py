"""The lives of claims and of the pods that use them: what breaks each guarantee."""

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import check_registry, findings, judging, verdicts
from harness.checks.claims import reservations
from harness.checks.observed import claim_versions
from harness.history import plans, records
from tests.histories import building, claim_judging, judged_runs, language
from tests.support import text_tables

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
Body = list[records.Body]
BOUND = "p:a a+D1 a^p p>n p*"
REMOVED = (
    "the API server removed claim a although its finalizer was stored "
    "(H20, a finalizer that a deletion does not see)"
)
CASES = [
    pytest.param(check, history, " ".join(findings), id=f"{check}: {title}")
    for check, (title, history, *findings) in text_tables.rows(__file__, "claim_cases.txt")
    if check in claim_judging.NAMES
]


@pytest.mark.parametrize(("check", "history", "findings"), CASES)
def test_a_history_breaks_a_guarantee_or_not(check: str, history: str, findings: str) -> None:
    found = claim_judging.summaries(check, history.replace("BOUND", BOUND))
    expected = findings.split(" ; ") if findings else []
    assert found == [item.replace("REMOVED", REMOVED) for item in expected]


@pytest.mark.parametrize(
    ("check", "history", "said"), text_tables.cases(__file__, "claim_cases.txt", "texts")
)
def test_a_finding_says_what_happened_when(check: str, history: str, said: str) -> None:
    answer = claim_judging.judge(check, history.replace("BOUND", BOUND))
    assert answer.reason.endswith(said) or any(said in item.text for item in answer.violations)


# ------------------------------------------------------------------------------ what is unseen


def _with_gap(after: int) -> Callable[[Body], Body]:
    gap = language.gap("pods", after, 0)
    return lambda body: [*body[: after + 2], gap, *body[after + 2 :]]


def _unlisted(resource: str) -> Callable[[Body], Body]:
    """The history without the first list of a resource."""
    listed = (resource, "first")
    return lambda body: [
        item
        for item in body
        if not (isinstance(item, records.Listed) and (item.resource, item.purpose) == listed)
    ]


def _swapped(body: Body) -> Body:
    """The history in which the last two versions of the pod come in the wrong order."""
    return [*body[:5], body[6], body[5], *body[7:]]


def _again(body: Body) -> Body:
    """The history in which the last version of the pod comes twice."""
    return [*body[:7], body[6], *body[7:]]


@pytest.mark.parametrize(
    ("check", "history", "change"),
    [
        *(("claims_in_use", f"{BOUND} a/p", _with_gap(after)) for after in (0, 4, 5)),
        ("claims_in_use", f"{BOUND} a/p", _swapped),
        ("claims_in_use", f"{BOUND} a/p", _again),
        ("claim_reservations", "a+D1 a^p", _unlisted("pods")),
        ("claim_reservations", "a+D1 a^p", _with_gap(1)),
        ("generated_claims", "p:? a<p p>n", _with_gap(2)),
        ("generated_claims", "p:? a<p b+D1 p?b c+D1", _unlisted("resourceclaims")),
    ],
)
def test_what_may_be_unseen_is_no_violation(
    check: str, history: str, change: Callable[[Body], Body]
) -> None:
    body = language.observe(history)
    assert claim_judging.result(check, body).violation_count == 1
    assert claim_judging.result(check, change(body)).verdict is VALID


def test_the_first_list_of_the_claims_tells_nothing_of_pods() -> None:
    body = _unlisted("resourceclaims")(language.observe("a+D1 a^p"))
    assert claim_judging.result("claim_reservations", body).violation_count == 1


# ------------------------------------------------------------------------------ other objects


def test_the_node_selector_is_part_of_the_allocation() -> None:
    def on_node(record: records.Body, node: str) -> records.Body:
        selector = {"nodeSelectorTerms": [{"node": node}]}
        return language.edited(
            record, lambda value: value["status"]["allocation"].update(nodeSelector=selector)
        )

    body = language.observe("a+D1 a^p")
    changed = [*body[:2], on_node(body[2], "n"), on_node(body[3], "m")]
    answer = claim_judging.result("allocation_stability", changed)
    assert "the same devices with other details" in answer.violations[0].text


@pytest.mark.parametrize(
    ("history", "count"),
    [
        ("a= a|D1", 1),
        ("a= a+D1 a|D1 a~", 0),  # its scheduler gives it up
        ("a= a+D1 [ a|D1 ] a~", 0),  # its allocation was not seen to be new
        ("a= a+D1 a= a|D1 a~", 1),
    ],
)
def test_of_a_schedulers_own_claim_only_the_allocation_is_examined(
    history: str, count: int
) -> None:
    note = {"resource.kubernetes.io/extended-resource-claim": "true"}
    body = [
        language.edited(item, lambda value: value["metadata"].update(annotations=note))
        if isinstance(item, records.Observation)
        else item
        for item in language.observe(history)
    ]
    assert claim_judging.result("allocation_finalizers", body).violation_count == count


def test_a_deallocation_in_one_write_is_told_so() -> None:
    body = [
        language.edited(item, lambda value: value["status"].pop("reservedFor"))
        if getattr(item, "resource_version", 0) == 6 and isinstance(item, records.Observation)
        else item
        for item in language.observe(f"{BOUND} a= . . p$")
    ]
    [violation] = claim_judging.result("claims_in_use", body).violations
    assert violation.summary == "claim a was deallocated while pod p used it"


@pytest.mark.parametrize(
    ("history", "old", "new", "resource", "said"),
    [
        ("a+D1 a^p", '"resource": "pods"', '"resource": "x"', "", ""),
        ("p:a a+D1 a^p", '"namespace": "tests"', '"namespace": "o"', "pods", "is in namespace o"),
        ("p:a a+D1 a^p", '"resource": "pods"', '"resource": "jobs"', "", "was named as jobs"),
        (
            "p:a a+D1 a^p",
            '"resource": "pods"',
            '"apiGroup": "batch", "resource": "pods"',
            "",
            "was named as pods.batch",
        ),
    ],
    ids=["not a pod", "another namespace", "another resource", "another group"],
)
def test_a_reservation_is_for_a_pod_of_the_namespace(
    history: str, old: str, new: str, resource: str, said: str
) -> None:
    body = language.replaced(language.observe(history), old, new, resource=resource)
    answer = claim_judging.result("claim_reservations", body)
    assert answer.verdict is (INVALID if said else VALID)
    assert all(said in violation.text for violation in answer.violations)


def test_a_user_may_bind_a_pod_before_its_claim_is_there() -> None:
    """The first version of the pod that is seen has a node."""
    body = [
        item
        for item in language.observe("p:? p>n a<p")
        if getattr(item, "resource_version", 0) != 1
    ]
    assert claim_judging.result("generated_claims", body).verdict is VALID


# ------------------------------------------------------------------------------ the most


def _full(pods: int) -> str:
    """A claim that is reserved for that number of pods, and then for one less."""
    names = [f"p{number}" for number in range(pods)]
    made = " ".join(f"{name}:a" for name in names)
    return f"{made} a+D1 {' '.join(f'a^{name}' for name in names)} a/{names[-1]} a~ c+D1"


def test_a_claim_has_at_most_256_reservations() -> None:
    assert reservations.most(claim_versions.ClaimVersions()) == 0
    most = reservations.RESERVATIONS_MAX
    full = claim_judging.judge("claim_reservations", _full(most))
    assert full.verdict is VALID
    (violation,) = claim_judging.judge("claim_reservations", _full(most + 1)).violations
    assert violation.summary == "claim a was reserved for 257 pods at once"
    assert violation.resource_versions == [515]
    (violation,) = claim_judging.judge("claim_reservations", _full(most + 2)).violations
    assert "258 pods at once" in violation.summary
    assert "in 3 versions from resourceVersion 516 to 518" in violation.text


# ------------------------------------------------------------------------------ plans and faults


def test_a_scenario_that_asks_for_shared_claims_owes_reservations(tmp_path: pathlib.Path) -> None:
    wanted = plans.Requirements(allocations_min=1, pods_running_min=0, reservations_min=2)
    for least, owes in ((0, False), (1, True)):
        asked = msgspec.structs.replace(wanted, reservations_min=least)
        assert reservations.CLAIM_RESERVATIONS.applies(building.plan(requirements=asked)) is owes
    judgement = judging.judge(
        building.build(tmp_path / "run", "p:a a+D1 a^p a/p a-D1 c+D1", requirements=wanted)
    )
    assert judgement.verdict is UNKNOWN
    assert "1 reservations of one claim, expected at least 2" in judgement.reason


def _hit(kind: str, resource: str, name: str, **changes: Any) -> records.FaultApplied:
    fields = {"fault": kind, "kind": kind, "client": "scheduler", "namespace": "tests"}
    times = {"begun_ns": 1, "ended_ns": 2}
    return records.FaultApplied(**fields | times | changes, resource=resource, name=name)


@pytest.mark.parametrize(
    ("hit", "hazard"),
    [
        (_hit("lose-response", "pods", "p"), "H11, a binding without an answer"),
        (_hit("delay-response", "pods", "p"), "H11, a binding without an answer"),
        (_hit("delay-request", "pods", "p"), "H19, a binding that comes late"),
        (_hit("truncate-response", "resourceclaims", "a"), "H10, a reservation that was taken"),
        (_hit("delay-request", "resourceclaims", "a"), "H18, a reservation that is taken back"),
        (_hit("lose-response", "pods", "q"), ""),
        (_hit("lose-response", "pods", "p", client="kubelet"), ""),
        (_hit("delay-events", "pods", "p", event_type="MODIFIED"), ""),
    ],
)
def test_a_violation_names_the_hazard_that_faults_show(
    hit: records.FaultApplied, hazard: str
) -> None:
    answer = claim_judging.judge("claims_in_use", f"{BOUND} a/p", applied=[hit])
    [violation] = answer.violations
    assert hazard in violation.summary
    assert ("(H" in violation.summary) is bool(hazard)


def test_a_claim_that_a_fault_moves_is_not_examined() -> None:
    moved = _hit("reallocate-claims", "resourceclaims", "a")
    found = claim_judging.answers(language.observe(f"{BOUND} a/p"), applied=[moved])
    assert isinstance(found["claims_in_use"], verdicts.NotExamined)


@pytest.mark.parametrize(
    ("uid", "kind", "count"),
    [
        ("uid-a", "lose-response", 0),
        ("", "lose-response", 0),  # it may have been any of them
        ("uid-b", "lose-response", 1),
        ("uid-a", "delay-events", 1),
    ],
)
def test_a_creation_without_an_answer_may_be_repeated(uid: str, kind: str, count: int) -> None:
    lost = _hit(kind, "resourceclaims", "", verb="create", uid=uid)
    answer = claim_judging.judge("generated_claims", "p:? a<p b<p p?b", applied=[lost])
    assert answer.violation_count == count


def test_in_a_script_no_fault_excuses_a_repeated_creation() -> None:
    lost = _hit("lose-response", "resourceclaims", "", verb="create", uid="uid-a")
    scripted = claim_judging.plan(settings={"traffic": {"profile": "script", "steps": []}})
    check = CHECKS["generated_claims"]
    body = language.observe("p:? a<p b<p p?b")
    seen = claim_judging.evidence(body, [check], of=scripted, applied=[lost])
    assert judged_runs.examined(check.judge(seen)).violation_count == 1


@pytest.mark.parametrize(
    "kind", ["kill-process", "restart-process", "restart-api-server", "stale-list"]
)
def test_a_controller_that_forgot_what_it_created_is_not_blamed(kind: str) -> None:
    faults = [building.fault(kind)]
    answer = claim_judging.judge("generated_claims", "p:? a<p b<p p?b", faults=faults)
    assert answer.verdict is VALID


CHECKS = {check.name: check for check in check_registry.CHECKS}
Object = dict[str, Any]
SHARED = {"name": "gpu", "resourceClaimTemplateName": "t"}
ALLOCATION = {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x"}]}}
FOR_GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}


def _seen(resource: str, version: int, obj: Object, kind: Any) -> records.Observation:
    name = obj["metadata"]["name"]
    meta = {"namespace": "n", "uid": name, "resourceVersion": str(version), **obj["metadata"]}
    return language.observation(resource, version, {**obj, "metadata": meta}, kind)


def group(version: int, kind: Any = "ADDED", *, name: str = "g") -> records.Body:
    spec = {"resourceClaims": [SHARED]}
    return _seen("podgroups", version, {"metadata": {"name": name}, "spec": spec}, kind)


def pod(version: int, *, node: str = "", kind: Any = "MODIFIED") -> records.Body:
    spec: Object = {"schedulingGroup": {"podGroupName": "g"}, "resourceClaims": [SHARED]}
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
    spec |= {"nodeName": node} if node else {}
    return _seen("pods", version, {"metadata": {"name": "p"}, "spec": spec, "status": status}, kind)


def claim(
    version: int, *users: Object, owner: str = "PodGroup", name: str = "c", kind: Any = "MODIFIED"
) -> records.Body:
    uid = "g" if owner == "PodGroup" else "p"
    meta = {
        "name": name,
        "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
        "ownerReferences": [{"kind": owner, "name": uid, "uid": uid, "controller": True}],
    }
    status: Object = {"allocation": ALLOCATION, "reservedFor": users} if users else {}
    return _seen("resourceclaims", version, {"metadata": meta, "status": status}, kind)


def found(name: str, body: Sequence[records.Body]) -> list[str]:
    """The summaries of what the check finds."""
    plan = msgspec.structs.replace(
        claim_judging.plan(), resources=["pods", "resourceclaims", "nodes"]
    )
    resources = "resourceclaims", "pods", "podgroups"
    lists = [language.listed(resource, "first", 1, ts_ns=0) for resource in resources]
    evidence = claim_judging.evidence([*lists, *body], [CHECKS[name]], of=plan)
    answer = judged_runs.examined(findings.asked(CHECKS[name], evidence))
    assert answer.verdict is (INVALID if answer.violations else VALID)
    return [item.summary for item in answer.violations]


GROUP, NEW, POD, RESERVED = (
    group(2),
    claim(3, kind="ADDED"),
    pod(4, kind="ADDED"),
    claim(5, FOR_GROUP),
)
RUNNING = [GROUP, NEW, POD, RESERVED, pod(6, node="w")]
GOOD = [*RUNNING, pod(7, node="w", kind="DELETED"), claim(8), group(9, "DELETED"), claim(10)]
OF_POD = claim(3, owner="Pod", kind="ADDED")
OTHERS = [group(2, name="h"), NEW, RESERVED]
GROUP_OF_OTHERS = language.edited(
    GROUP, lambda value: value["spec"]["resourceClaims"][0].update(resourceClaimTemplateName="u")
)
PEER = language.edited(pod(7), lambda value: value["metadata"].update(name="q", uid="q"))
WITH_ANOTHER = language.edited(
    pod(6, node="w", kind="ADDED"),
    lambda value: value["status"]["resourceClaimStatuses"][0].update(resourceClaimName="d"),
)
FOR_JOB = claim(5, FOR_GROUP | {"apiGroup": "batch", "resource": "jobs"})
GAP = language.gap("podgroups", 3, 3)


@pytest.mark.parametrize(
    ("check", "body", "summary"),
    [
        ("generated_claims", GOOD, ""),
        ("claim_reservations", GOOD, ""),
        ("claims_in_use", GOOD, ""),
        ("bound_pods", RUNNING, ""),
        ("generated_claims", [GROUP, OF_POD, POD, claim(5)], "pod p names a claim for gpu that"),
        ("generated_claims", [GROUP, NEW, claim(4, name="d", kind="ADDED")], "pod g has a second"),
        ("claim_reservations", OTHERS, "claim c was reserved for a PodGroup that never existed"),
        ("claim_reservations", [OTHERS[0], GAP, *OTHERS[1:]], ""),
        (
            "claims_in_use",
            [*RUNNING, claim(7), pod(8, node="w", kind="DELETED")],
            "claim c was deallocated while pod p used",
        ),
        ("bound_pods", [GROUP, NEW, POD, RUNNING[-1]], "pod p: claim c was not allocated and"),
        ("generated_claims", [GROUP_OF_OTHERS, OF_POD, POD, claim(5)], ""),
        ("claims_in_use", [*RUNNING, PEER], ""),
        ("claims_in_use", [GROUP, NEW, RESERVED, WITH_ANOTHER, claim(7)], ""),
        ("bound_pods", [GROUP, NEW, POD, FOR_JOB, RUNNING[-1]], "pod p: claim c was not allocated"),
    ],
)
def test_the_life_of_a_group(check: str, body: list[records.Body], summary: str) -> None:
    """A reservation for the group is one for its pods."""
    summaries = found(check, body)
    assert len(summaries) == bool(summary)
    assert all(item.startswith(summary) for item in summaries)

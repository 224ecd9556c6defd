"""A claim stays reserved, allocated and there while a pod that uses it runs."""

import json
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claims import claims_in_use
from harness.history import records
from tests.histories import building, claim_judging, language

NAME = claims_in_use.CHECK.name
found = claim_judging.judge_by(NAME)
BOUND = "p:a a+D1 a^p p>n p*"


@pytest.mark.parametrize(
    "text",
    [
        f"{BOUND} p$ a/p a= a~",  # it has ended
        f"{BOUND} p~ a/p a=",  # it is gone
        f"{BOUND} p~ a~",
        "p:a a+D1 a^p a/p a=",  # its binding failed: it was not bound yet
        "p:a a+D1 a^p a/p p>n",
        f"{BOUND} [ a/p",  # not known
        f"{BOUND} [ a/p a= ]",
        f"{BOUND} b+D2 b^q b/q",  # a pod that was never observed
    ],
)
def test_a_claim_may_be_given_back(text: str) -> None:
    assert [item for item in found(text) if item != "not examined"] == []


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (f"{BOUND} a/p", "claim a lost its reservation while pod p used it"),
        (f"{BOUND} a/p p$", "claim a lost its reservation while pod p used it"),
        (f"{BOUND} a! a~", "claim a was removed while pod p used it"),
        ("p:a p>n a+D1 a^p a/p", "claim a lost its reservation while pod p used it"),
        ("p:a q:a a+D1 a^p a^q p>n q>n q~ a/q a/p", "claim a lost its reservation while pod p used it"),
    ],
)  # fmt: skip
def test_what_a_running_pod_loses_is_found(text: str, summary: str) -> None:
    assert found(text) == [summary]


def test_a_deallocation_in_one_write_is_told_with_the_end_of_the_pod() -> None:
    text = f"{BOUND} a= . . p$"
    body = language.observe(text)
    answer = claim_judging.result(NAME, _without_reservation(body, version=6))
    [violation] = answer.violations
    assert violation.summary == "claim a was deallocated while pod p used it"
    assert violation.text == (
        "Claim tests/a (uid uid-a) was reserved for pod tests/p (uid uid-p) from resourceVersion "
        "3; at 6 it was deallocated, although the pod was bound at 4 and ended only at 9."
    )
    assert [item.kind for item in violation.objects] == ["ResourceClaim", "Pod"]


def _without_reservation(body: list[records.Body], *, version: int) -> list[records.Body]:
    """The history, in which this version of a claim has lost its reservations, too."""
    changed: list[records.Body] = []
    for item in body:
        if isinstance(item, records.Observation) and item.resource_version == version:
            document = json.loads(bytes(item.object))
            document["status"].pop("reservedFor")
            raw = msgspec.Raw(json.dumps(document).encode())
            changed.append(msgspec.structs.replace(item, object=raw))
        else:
            changed.append(item)
    return changed


def test_pods_that_never_end_and_pods_that_go_are_told() -> None:
    answer = claim_judging.judge(NAME, f"{BOUND} a/p q:b b+D2 b^q q>n b/q q~")
    assert [item.text.rsplit(" and ", 1)[1] for item in answer.violations] == [
        "still existed at the end.",
        "was gone only at 12.",
    ]
    assert (answer.examined_count, answer.violation_count) == (2, 2)


def test_a_gap_in_the_pods_is_doubt() -> None:
    body = language.observe(f"{BOUND} a/p")
    gap = records.Gap(resource="pods", after_resource_version=1, reason="410", ts_ns=0)
    answer = claim_judging.result(NAME, [*body[:2], gap, *body[2:]])
    assert answer.verdict is verdicts.Verdict.VALID


def test_a_reservation_that_stays_is_examined_if_its_pod_was_bound() -> None:
    """It was kept while it was needed; of a pod that was never bound nothing is known."""
    assert found(BOUND) == []
    assert found("p:a a+D1 a^p") == ["not examined"]
    assert found(f"{BOUND} [ ]") == ["not examined"]


# --------------------------------------------------------------------- when it is examined


def test_a_plain_run_owes_it() -> None:
    assert claims_in_use.applies(claim_judging.plan())
    assert not claims_in_use.applies(building.plan())


CONFUSING = [
    ("lose-response", ["scheduler"]),
    ("kill-process", ["scheduler-2"]),
    ("restart-api-server", ["api-server"]),
    ("reallocate-claims", ["run"]),
    ("lose-response", []),
    ("lose-response", ["claim-controller", "scheduler"]),
]


@pytest.mark.parametrize(("kind", "clients"), CONFUSING)
def test_faults_of_the_scenario_do_not_switch_it_off(kind: str, clients: list[str]) -> None:
    fault = building.fault(kind, clients=clients)
    assert claims_in_use.applies(claim_judging.plan([fault]))
    drawn = building.fault(kind, clients=clients, drawn_by="chaos")
    assert not claims_in_use.applies(claim_judging.plan([drawn]))


@pytest.mark.parametrize(
    ("kind", "clients"),
    [
        ("lose-response", ["claim-controller"]),
        ("pause-process", ["kubelet"]),
        ("delay-events", ["scheduler"]),
    ],
)
def test_a_nemesis_that_does_not_confuse_schedulers(kind: str, clients: list[str]) -> None:
    drawn = building.fault(kind, clients=clients, drawn_by="chaos")
    assert claims_in_use.applies(claim_judging.plan([drawn]))


@pytest.mark.parametrize(
    "subject",
    [
        {"schedulers": [{"scheduler_name": "a"}, {"scheduler_name": "b"}]},
        {"schedulers": [{"scheduler_name": "a"}], "leader_election": {"lease_s": 1}},
    ],
)
def test_several_schedulers_owe_it(subject: dict[str, Any]) -> None:
    assert claims_in_use.applies(claim_judging.plan(settings={"subject": subject}))


def _hit(kind: str, resource: str, name: str, **changes: Any) -> records.FaultApplied:
    fields = {"fault": kind, "kind": kind, "client": "scheduler"}
    fields |= {"namespace": "tests", "begun_ns": 1, "ended_ns": 2}
    return records.FaultApplied(**fields | changes, resource=resource, name=name)


def _judged(*hits: records.FaultApplied) -> verdicts.Answer:
    """The answer about a claim that is taken from a running pod, after these faults."""
    return claim_judging.answers(language.observe(f"{BOUND} a/p"), applied=hits)[NAME]


@pytest.mark.parametrize(
    ("hit", "hazard"),
    [
        (_hit("lose-response", "pods", "p"), " (H11, a binding without an answer)"),
        (_hit("delay-response", "pods", "p"), " (H11, a binding without an answer)"),
        (_hit("delay-request", "pods", "p"), " (H19, a binding that comes late)"),
        (_hit("truncate-response", "resourceclaims", "a"), " (H10, a reservation that was taken back)"),
        (_hit("delay-request", "resourceclaims", "a"), " (H18, a reservation that is taken back late)"),
        (_hit("lose-response", "pods", "q"), ""),
        (_hit("lose-response", "pods", "p", client="kubelet"), ""),
        (_hit("delay-events", "pods", "p", event_type="MODIFIED"), ""),
    ],
)  # fmt: skip
def test_a_violation_names_the_hazard_that_faults_show(
    hit: records.FaultApplied, hazard: str
) -> None:
    answer = _judged(hit)
    assert isinstance(answer, verdicts.CheckResult)
    assert answer.verdict is verdicts.Verdict.INVALID
    assert answer.violations[0].summary == (
        f"claim a lost its reservation while pod p used it{hazard}"
    )


def test_a_claim_that_a_fault_moves_is_not_examined() -> None:
    assert isinstance(
        _judged(_hit("reallocate-claims", "resourceclaims", "a")), verdicts.NotExamined
    )


def test_the_pod_that_went_on_longest_is_the_worst() -> None:
    # q has ended one version later, then r goes on to the end; both are beyond what is listed.
    pods = " ".join(f"p{n}:a a^p{n} p{n}>n a/p{n} p{n}$" for n in range(21))
    later = "q:a a^q q>n a/q . . . . q~ r:a a^r r>n a/r r$ s:a a^s s>n a/s s$"
    answer = claim_judging.judge(NAME, f"a+D1 {pods} {later}")
    assert answer.violation_count == 24
    shown = [item.objects[1].name for item in answer.violations]
    assert shown == [*(f"p{n}" for n in range(20)), "q", "s"]


def test_a_pod_that_went_on_to_the_end_counts_to_its_last_version() -> None:
    pods = " ".join(f"p{n}:a a^p{n} p{n}>n a/p{n} . p{n}~" for n in range(21))
    for more, worst in ((". p*", "p"), ("p*", "p20")):
        text = f"a+D1 {pods} p:a a^p p>n a/p {more} s:a a^s s>n a/s s$"
        answer = claim_judging.judge(NAME, text)
        assert isinstance(answer, verdicts.CheckResult)
        assert (answer.violations[-2].objects[1].name == "p") is (worst == "p")


def test_a_claim_that_the_api_server_removed_is_told_so() -> None:
    assert found(f"{BOUND} a~") == [
        "claim a was removed by the API server in spite of its finalizer while pod p used it"
    ]

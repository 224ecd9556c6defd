"""A claim stays reserved, allocated and there while a pod that uses it runs."""

import json
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claims import claims_in_use
from harness.history import records
from tests.histories import building, claim_judging, language

NAME = claims_in_use.NAME
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
        (f"{BOUND} a/p", "its reservation was dropped while pod p used claim a"),
        (f"{BOUND} a/p p$", "its reservation was dropped while pod p used claim a"),
        (f"{BOUND} a~", "it was removed while pod p used claim a"),
        ("p:a p>n a+D1 a^p a/p", "its reservation was dropped while pod p used claim a"),
        ("p:a q:a a+D1 a^p a^q p>n q>n q~ a/q a/p", "its reservation was dropped while pod p used claim a"),
    ],
)  # fmt: skip
def test_what_a_running_pod_loses_is_found(text: str, summary: str) -> None:
    assert found(text) == [summary]


def test_a_deallocation_in_one_write_is_told_with_the_end_of_the_pod() -> None:
    text = f"{BOUND} a= . . p$"
    body = language.observe(text)
    answer = claim_judging.answers(_without_reservation(body, version=6))[NAME]
    assert isinstance(answer, verdicts.CheckResult)
    [violation] = answer.violations
    assert violation.summary == "it was deallocated while pod p used claim a"
    assert violation.text == (
        "Claim tests/a (uid uid-a) was reserved for pod tests/p (uid uid-p) from resourceVersion "
        "3; at 6 it was deallocated, although the pod was bound at 4 and ended only at 9."
    )
    assert [item.kind for item in violation.objects] == ["ResourceClaim", "Pod"]


def _without_reservation(body: list[records.Body], *, version: int) -> list[records.Body]:
    """The history, in which this version of a claim has lost its reservations, too."""
    changed = []
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
    assert isinstance(answer, verdicts.CheckResult)
    assert [item.text.rsplit(" and ", 1)[1] for item in answer.violations] == [
        "still existed at the end.",
        "was gone only at 12.",
    ]
    assert (answer.examined_count, answer.violation_count) == (2, 2)


def test_a_gap_in_the_pods_is_doubt() -> None:
    body = language.observe(f"{BOUND} a/p")
    gap = records.Gap(resource="pods", after_resource_version=1, reason="410", ts_ns=0)
    answer = claim_judging.answers([*body[:2], gap, *body[2:]])[NAME]
    assert isinstance(answer, verdicts.CheckResult)
    assert answer.verdict is verdicts.Verdict.VALID


def test_without_the_end_of_a_reservation_nothing_was_examined() -> None:
    assert found(BOUND) == ["not examined"]


# --------------------------------------------------------------------- when it is examined


def test_a_plain_run_owes_it() -> None:
    assert claims_in_use.applies(claim_judging.plan())
    assert not claims_in_use.applies(building.plan())


@pytest.mark.parametrize(
    ("kind", "clients", "owes"),
    [
        ("lose-response", ["scheduler"], False),
        ("lose-response", ["claim-controller"], True),
        ("kill-process", ["scheduler-2"], False),
        ("pause-process", ["kubelet"], True),
        ("delay-events", ["scheduler"], True),
        ("restart-api-server", ["api-server"], False),
        ("reallocate-claims", ["run"], False),
        ("lose-response", [], False),
    ],
)
def test_schedulers_that_may_be_wrong_about_a_binding(
    kind: str, clients: list[str], owes: bool
) -> None:
    fault = building.fault(kind, clients=clients)
    assert claims_in_use.applies(claim_judging.plan([fault])) is owes


@pytest.mark.parametrize(
    "subject",
    [
        {"schedulers": [{"scheduler_name": "a"}, {"scheduler_name": "b"}]},
        {"schedulers": [{"scheduler_name": "a"}], "leader_election": {"lease_s": 1}},
    ],
)
def test_several_schedulers_may_be_wrong_about_a_binding(subject: dict[str, Any]) -> None:
    assert not claims_in_use.applies(claim_judging.plan(settings={"subject": subject}))

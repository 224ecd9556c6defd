"""Claims are reserved while they are allocated, and only for their own pods."""

import pathlib

import msgspec
import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.checks.claims import reservations
from harness.history import plans, records
from tests.histories import building, claim_judging, language

NAME = reservations.CHECK.name
SHARED = plans.Requirements(allocations_min=1, pods_running_min=0, reservations_min=2)
found = claim_judging.judge_by(NAME)


def _full(pods: int) -> str:
    names = [f"p{number}" for number in range(pods)]
    made = " ".join(f"{name}:a" for name in names)
    return f"{made} a+D1 {' '.join(f'a^{name}' for name in names)} a~ c+D1"


def _judge(
    path: pathlib.Path, text: str, requirements: plans.Requirements = SHARED
) -> verdict_files.Judgement:
    return judging.judge(building.build(path / "run", text, requirements=requirements))


# ----------------------------------------------------------------------------- the limit


def test_a_full_claim_is_valid() -> None:
    answer = claim_judging.judge(NAME, _full(reservations.RESERVATIONS_MAX))
    assert answer.verdict is verdicts.Verdict.VALID
    assert answer.reason == (
        "versions of reserved claims, with at most 256 reservations: 256, none against it"
    )


def test_one_version_with_too_many_is_a_violation_although_later_ones_are_fine() -> None:
    answer = claim_judging.judge(NAME, _full(reservations.RESERVATIONS_MAX + 1))
    (violation,) = answer.violations
    assert violation.summary == "claim a was reserved for 257 pods at once"
    assert violation.resource_versions == [515]
    assert [item.name for item in violation.objects] == ["a"]


def test_the_largest_number_is_told_with_the_first_version_and_the_last() -> None:
    pods = reservations.RESERVATIONS_MAX + 2
    fewer = _full(pods).replace(" a~", f" a/p{pods - 1} a~")
    answer = claim_judging.judge(NAME, fewer)
    (violation,) = answer.violations
    assert violation.summary == "claim a was reserved for 258 pods at once"
    assert "in 3 versions from resourceVersion 516 to 518" in violation.text


@pytest.mark.parametrize(("least", "owes"), [(0, False), (1, True)])
def test_a_scenario_that_asks_for_shared_claims_owes_it(least: int, owes: bool) -> None:
    wanted = msgspec.structs.replace(SHARED, reservations_min=least)
    assert reservations.applies(building.plan(requirements=wanted)) is owes


def test_a_run_that_shares_claims_counts_their_reservations(tmp_path: pathlib.Path) -> None:
    judgement = _judge(tmp_path, "p:a a+D1 a^p a/p a-D1 c+D1")
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "1 reservations of one claim, expected at least 2" in judgement.reason


def test_a_history_for_another_check_owes_nothing(tmp_path: pathlib.Path) -> None:
    nothing = plans.Requirements(allocations_min=1, pods_running_min=0)
    judgement = _judge(tmp_path, "a+D1 a^p", nothing)
    assert judgement.verdict is verdicts.Verdict.VALID
    assert NAME not in [item.check for item in judgement.checks]


# ------------------------------------------------------------------------------ the pods


@pytest.mark.parametrize(
    "text",
    [
        "p:a a+D1 a^p",
        "p:b,a a+D1 a^p",
        "a+D1 a^p p:a",  # the watch of pods may lag behind
        "p:a p~ a+D1 a^p",  # it existed
        "p:? a<p a+D1 a^p",
        "p:a p~ p:a a+D1 a^p",  # a name that is reborn, with its new UID
    ],
)
def test_the_pods_that_use_a_claim_may_have_it(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a+D1 a^p", "a pod that never existed"),
        ("p:a a+D1 a^p#9", "a pod that never existed: pods of this name had uid uid-p"),
        ("p:a p~ p:a a+D1 a^p#7", "a pod that never existed: pods of this name had uid uid-p, uid-p-2"),
        ("p:b a+D1 a^p", "a pod that does not name it"),
        ("p:? q:? a<p a+D1 a^q", "a pod that does not name it"),
        ("p:a q:a a+D1 a^p#q", "a pod that has the name q"),
    ],
)  # fmt: skip
def test_other_pods_may_not(text: str, why: str) -> None:
    assert found(text) == [f"claim a was reserved for {why}"]


def test_a_pod_of_another_namespace_may_not() -> None:
    body = [_elsewhere(item) for item in language.observe("p:a a+D1 a^p")]
    answer = claim_judging.result(NAME, body)
    [violation] = answer.violations
    assert violation.text == (
        "Claim tests/a (uid uid-a) was reserved at resourceVersion 3 for pod p (uid uid-p), that "
        "is in namespace elsewhere."
    )
    assert [item.kind for item in violation.objects] == ["ResourceClaim", "Pod"]


def _elsewhere(item: records.Body) -> records.Body:
    if not isinstance(item, records.Observation) or item.resource != "pods":
        return item
    document = bytes(item.object).replace(b'"namespace": "tests"', b'"namespace": "elsewhere"')
    return msgspec.structs.replace(item, object=msgspec.Raw(document))


def test_pods_that_the_recorder_may_have_missed_are_no_violation() -> None:
    body = language.observe("a+D1 a^p")
    gap = records.Gap(resource="pods", after_resource_version=1, reason="410", ts_ns=0)
    unlisted = [item for item in body if getattr(item, "purpose", "") != "first"]
    for doubtful in ([*body, gap], unlisted):
        answer = claim_judging.answers(doubtful)[NAME]
        assert isinstance(answer, verdicts.CheckResult)
        assert answer.verdict is verdicts.Verdict.VALID


def test_a_consumer_that_is_no_pod_is_not_examined() -> None:
    body = [
        msgspec.structs.replace(
            item,
            object=msgspec.Raw(
                bytes(item.object).replace(b'"resource": "pods"', b'"resource": "x"')
            ),
        )
        if isinstance(item, records.Observation)
        else item
        for item in language.observe("a+D1 a^p")
    ]
    answer = claim_judging.result(NAME, body)
    assert answer.verdict is verdicts.Verdict.VALID


# ------------------------------------------------------------------------- the allocation


def test_each_version_with_reservations_and_no_allocation_is_found() -> None:
    answer = claim_judging.judge(NAME, "p:a q:a a+D1 a^p a^q a= a/p a/q")
    assert [item.text for item in answer.violations] == [
        "Claim tests/a (uid uid-a) had 2 reservations at resourceVersion 6, but no allocation.",
        "Claim tests/a (uid uid-a) had 1 reservation at resourceVersion 7, but no allocation.",
    ]


def test_without_a_reservation_nothing_was_examined() -> None:
    assert found("a+D1 a-D1") == ["not examined"]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ('"resource": "jobs"', "jobs"),
        ('"apiGroup": "batch", "resource": "pods"', "pods.batch"),
        ('"apiGroup": "batch", "resource": "jobs"', "jobs.batch"),
    ],
)
def test_a_pod_that_is_named_as_something_else_is_found(kind: str, told: str) -> None:
    body = [
        msgspec.structs.replace(
            item,
            object=msgspec.Raw(bytes(item.object).replace(b'"resource": "pods"', kind.encode())),
        )
        if isinstance(item, records.Observation)
        else item
        for item in language.observe("p:a a+D1 a^p")
    ]
    answer = claim_judging.result(NAME, body)
    [violation] = answer.violations
    assert violation.text.endswith(f"that is a pod, but was named as {told}.")

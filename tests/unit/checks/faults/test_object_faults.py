"""Which faults hit the objects of a violation that nothing looks at more closely."""

import msgspec
import pytest

from harness.checks import device_exclusivity, verdicts
from harness.checks.faults import fault_attribution, fault_records
from harness.checks.holds import hold_history
from harness.history import records
from tests.histories import language
from tests.histories.words import fault_words

STUCK = verdicts.Violation(
    guarantee="claim_progress",
    summary="claim a is stuck",
    text="",
    resource_versions=[],
    objects=[
        verdicts.InvolvedObject(kind="Pod", namespace="tests", name="p", uid=""),
        verdicts.InvolvedObject(kind="ResourceClaim", namespace="tests", name="a", uid="uid-a"),
    ],
)


def _attributed(applied: list[records.FaultApplied]) -> verdicts.Violation:
    result = verdicts.CheckResult(
        check="claim_progress",
        promise="",
        verdict=verdicts.Verdict.INVALID,
        examined_count=1,
        violation_count=1,
        violations=[STUCK],
        others=[],
        reason="",
    )
    found = fault_records.FaultRecords(applications=applied, exists=True)
    attributor = fault_attribution.Attributor(found, hold_history.fold(()).holds)
    judged = attributor.review(device_exclusivity.CHECK, result)
    return judged.violations[0]


def test_calls_and_events_are_named_in_the_order_of_time() -> None:
    applied = fault_words.applications("a+D1 /lose-response:a . /delay-events:a>9")
    lost, late = applied
    lost = msgspec.structs.replace(lost, detail="carried out; the answer was lost")
    violation = _attributed([late, lost])
    assert violation.attribution == (
        "the update of resourceclaims/status a by scheduler: carried out; the answer was lost "
        "(lose-response); the event MODIFIED of a to scheduler: delay-events (delay-events)"
    )
    assert [effect.object for effect in violation.faults] == ["ResourceClaim tests/a"] * 2
    assert [effect.begun_ns for effect in violation.faults] == [
        language.after(1),
        language.after(2),
    ]


def test_only_the_last_effect_of_a_fault_on_an_object_is_named() -> None:
    [effect] = _attributed(fault_words.applications("a= /reject:a . /reject:a")).faults
    assert effect.begun_ns == language.after(2)


def test_only_the_last_faults_are_named() -> None:
    words = " ".join(f"/kind-{chr(97 + number)}:a ." for number in range(9))
    faults = _attributed(fault_words.applications(f"a= {words}")).faults
    assert [effect.fault for effect in faults] == [f"kind-{letter}" for letter in "efghi"]
    assert len(faults) == fault_attribution.EFFECTS_MAX


@pytest.mark.parametrize(
    "change",
    [{"name": "b"}, {"namespace": "elsewhere"}, {"resource": "pods"}, {"uid": "uid-another"}],
    ids=str,
)
def test_faults_of_other_objects_are_not_named(change: dict[str, str]) -> None:
    [applied] = fault_words.applications("a= /reject:a")
    violation = _attributed([msgspec.structs.replace(applied, **change)])
    assert violation.attribution == "no fault hit its objects"


def test_a_fault_of_a_process_hits_no_object() -> None:
    violation = _attributed(fault_words.applications("a= /kill-process:=scheduler"))
    assert violation.faults == []

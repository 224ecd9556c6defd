"""Which faults explain a violation, and which do not, to the nanosecond and the version.

Of a double allocation, claim a gets D1 first, and claim b at the last resourceVersion; see
`tests.histories.language`.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import device_exclusivity, fault_attribution, fault_records, verdicts
from harness.checks.holds import hold_history
from harness.history import records
from tests.histories import judged_runs, language
from tests.histories.words import fault_words
from tests.support import text_tables

NONE = "no fault explains it"
UNSEEN = "the scheduler could not know of it"
EDGES = {"-NEAR": -fault_attribution.NEAR_NS, "-AGAIN": -fault_attribution.WATCH_AGAIN_NS}
EDGES |= {"-1": -1, "+1": 1}
at = language.at


def _review(
    applied: Sequence[records.FaultApplied], text: str, result: verdicts.CheckResult | None = None
) -> verdicts.CheckResult:
    """The answer about a history, with its faults; that of the check unless there is another."""
    folded = hold_history.fold(language.observe(text))
    found = fault_records.FaultRecords(applications=applied, exists=True)
    attributor = fault_attribution.Attributor(found, folded.holds)
    answer = result or device_exclusivity.check(folded, lambda _: None)
    return attributor.review(device_exclusivity.CHECK, answer)


def _attributed(text: str, **change: Any) -> list[verdicts.DoubleAllocation]:
    """The violations of a history, of whose first fault some fields are changed."""
    applied = fault_words.applications(text)
    applied[:1] = [msgspec.structs.replace(item, **change) for item in applied[:1]]
    return verdicts.double_allocations([_review(applied, text)])


def _last(text: str, **change: Any) -> verdicts.DoubleAllocation:
    return _attributed(text, **change)[-1]


NAMED = [
    columns
    for part, columns in text_tables.rows(__file__, "fault_sentences.txt")
    if part == "named"
]


@pytest.mark.parametrize(("text", "expected"), NAMED)
def test_the_fault_behind_it_is_named(text: str, expected: str) -> None:
    [violation] = _attributed(text)
    assert violation.attribution == expected
    assert [effect.text for effect in violation.faults]


@pytest.mark.parametrize("text", text_tables.cases(__file__, "fault_sentences.txt", "not named"))
def test_what_explains_nothing_is_not_named(text: str) -> None:
    [violation] = _attributed(text)
    assert violation.attribution == NONE


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("a+D2 /lose-response:a a=D1 b+D1", {"resource_version": 0}),  # it was moved later
        ("a+D2 a-D2 a+D3 /reject:a a-D3 a+D1 b+D1", {}),  # of an earlier hold
        ("a+D2 /reallocate-claims:a a-D2 a+D1 b+D1", {}),  # moved to another device
        ("b+D2 /reject:b b-D2 a+D1 b+D1", {}),  # before the second one was free
        ("b= /lose-response:b a+D1 b+D1", {}),  # a response to the second one
        ("b= a+D1 /lose-response:b b+D1", {}),
        ("a+D1 b+D1 b-D1 b+D1", {}),  # a release by the second one
    ],
)
def test_a_fault_of_another_call_is_not_named(text: str, change: dict[str, Any]) -> None:
    assert _last(text, **change).attribution == NONE


def _change(text: str) -> dict[str, Any]:
    """The fields of a fault, as in fault_edges.txt."""
    change: dict[str, Any] = {}
    for name, value in (item.split() for item in text.split(", ")):
        if name == "version":
            change["resource_version"] = int(value)
        elif name not in ("begun", "ended"):
            change[name] = "" if value == "-" else value
        else:
            rv, *more = re.findall(r"[-+]?\w+", value)
            change[f"{name}_ns"] = at(int(rv)) + sum(EDGES[item] for item in more)
    return change


@pytest.mark.parametrize(
    ("text", "named", "not_named"), text_tables.cases(__file__, "fault_edges.txt")
)
def test_a_fault_at_the_edge(text: str, named: str, not_named: str) -> None:
    assert _last(text, **_change(named)).faults
    assert _last(text, **_change(not_named)).attribution == NONE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a+D2 a=D1 /reallocate-claims:a b+D1", "another client moved a to this device (realloc"),
        (
            "c= /delay-events:c>900 a+D1 /delay-events:a>900 b+D1",  # of two, the newer one
            "the event of the allocation of a reached the scheduler 898 ms late",
        ),
        ("a+D1 /delay-response:a>1001 b+D1", "arrived 1.0 s late"),
        # The release of an earlier double explains the next one; the last one counts.
        (
            "a+D1 /lose-response:a b+D1 a-D1 /reject:b c+D1",
            "a had the device too, and its release at resourceVersion 3 made it look free",
        ),
        ("b+D1 c+D1 a+D1 b-D1 c-D1 d+D1 /reject:z", "it follows from an earlier one: c had"),
        ("a+D1 b+D1 /delay-events:b>50 a-D1 c+D1", UNSEEN),  # it had not arrived
    ],
)
def test_the_last_violation_is_explained(text: str, said: str) -> None:
    assert said in _last(text).attribution


@pytest.mark.parametrize(
    "text", ["a+D1 a-D1 b+D1 c+D1", "d+D2 a+D1 d-D2 b+D1 a-D1", "a+D1 b= b+D1 a-D1"]
)
def test_other_releases_explain_nothing(text: str) -> None:
    assert _attributed(text)[0].attribution == NONE


def test_each_violation_has_its_own_faults() -> None:
    text = "a+D1 /lose-response:a b+D1 a~ b~ c+D1 /delay-events:c>90 d+D1"
    faults = [[effect.fault for effect in item.faults] for item in _attributed(text)]
    assert faults == [["lose-response"], ["delay-events"]]
    ended = _last("a= . /kill-process:=scheduler . /delay-request:a<1 a+D1 b+D1").faults
    assert [effect.fault for effect in ended] == ["delay-request", "kill-process"]


def test_an_event_that_arrives_with_the_second_allocation_was_not_unseen() -> None:
    text = "a+D1 /delay-events:a . b+D1"
    assert _last(text, ended_ns=at(3) + 1).attribution.endswith(UNSEEN)
    assert _last(text, ended_ns=at(3)).attribution.endswith("b was allocated 2 versions after a")


def test_a_state_of_an_unknown_version_is_named() -> None:
    told = _last(". a+D1 /stale-list:@1 b+D1", resource_version=0).attribution
    assert told.startswith(
        "the scheduler read a state from before the allocation of a (stale-list)"
    )


def test_a_run_without_faults_has_no_attributions() -> None:
    folded = hold_history.fold(language.observe("a+D1 b+D1"))
    answer = device_exclusivity.check(folded, lambda _: None)
    attributor = fault_attribution.Attributor(fault_records.FaultRecords(), folded.holds)
    assert attributor.review(device_exclusivity.CHECK, answer) is answer


def test_an_effect_has_its_object_version_and_time() -> None:
    assert _last(". a+D1 /delay-events:a>40 b+D1").faults == [
        verdicts.FaultEffect(
            fault="delay-events",
            kind="delay-events",
            object="ResourceClaim tests/a",
            resource_version=2,
            begun_ns=language.after(2),
            ended_ns=language.after(40),
            text="the event of the allocation of a reached the scheduler 38 ms late (delay-events)",
        )
    ]


def test_both_schedulers_are_named() -> None:
    text = "a+D1 /delay-events:a>90 b+D1"
    [applied] = fault_words.applications(text)
    other = msgspec.structs.replace(applied, client="scheduler-2")
    [violation] = verdicts.double_allocations([_review([applied, other], text)])
    assert "reached scheduler-2 89 ms late" in violation.attribution
    assert "reached the scheduler 89 ms late" in violation.attribution


# ----------------------------------------------------------------------------- other violations


def _of_stuck(applied: Sequence[records.FaultApplied]) -> verdicts.Violation:
    """A violation that nothing looks at more closely: that pod p and claim a are stuck."""
    stuck = verdicts.Violation(
        guarantee="claim_progress",
        summary="claim a is stuck",
        text="",
        resource_versions=[],
        objects=[
            verdicts.InvolvedObject(kind=kind, namespace="tests", name=name, uid=uid)
            for kind, name, uid in (("Pod", "p", ""), ("ResourceClaim", "a", "uid-a"))
        ],
    )
    result = judged_runs.answered("claim_progress", verdicts.Verdict.INVALID, 1, violations=[stuck])
    return _review(applied, "", result).violations[0]


def test_calls_and_events_that_hit_its_objects_are_named_in_the_order_of_time() -> None:
    lost, late = fault_words.applications("a+D1 /lose-response:a . /delay-events:a>9")
    lost = msgspec.structs.replace(lost, detail="carried out; the answer was lost")
    violation = _of_stuck([late, lost])
    assert violation.attribution == (
        "the update of resourceclaims/status a by scheduler: carried out; the answer was lost "
        "(lose-response); the event MODIFIED of a to scheduler: delay-events (delay-events)"
    )
    assert [effect.begun_ns for effect in violation.faults] == [*map(language.after, (1, 2))]
    whole = msgspec.structs.replace(lost, subresource="", uid="uid-a")
    assert _of_stuck([whole]).attribution.startswith("the update of resourceclaims a by scheduler:")
    of_pod = msgspec.structs.replace(lost, resource="pods", name="p", uid="u")  # it has no uid
    assert [effect.object for effect in _of_stuck([of_pod]).faults] == ["Pod tests/p"]


def test_only_the_last_effect_of_a_fault_and_the_last_faults_are_named() -> None:
    [effect] = _of_stuck(fault_words.applications("a= /reject:a . /reject:a")).faults
    assert (effect.object, effect.begun_ns) == ("ResourceClaim tests/a", language.after(2))
    words = " ".join(f"/kind-{chr(97 + number)}:a ." for number in range(9))
    faults = _of_stuck(fault_words.applications(f"a= {words}")).faults
    assert [effect.fault for effect in faults] == [f"kind-{letter}" for letter in "efghi"]


@pytest.mark.parametrize(
    "change",
    [{"name": "b"}, {"namespace": "elsewhere"}, {"resource": "pods"}, {"uid": "uid-another"}],
    ids=str,
)
def test_faults_of_other_objects_and_of_processes_are_not_named(change: dict[str, str]) -> None:
    [applied] = fault_words.applications("a= /reject:a")
    violation = _of_stuck([msgspec.structs.replace(applied, **change)])
    assert violation.attribution == "no fault hit its objects"
    assert _of_stuck(fault_words.applications("a= /kill-process:=scheduler")).faults == []

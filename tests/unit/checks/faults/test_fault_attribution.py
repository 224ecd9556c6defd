"""Which faults explain a double allocation, and which do not."""

import pathlib

import msgspec
import pytest

from harness.checks import device_exclusivity, judging, verdict_files, verdicts
from harness.checks.faults import fault_attribution, fault_records
from harness.checks.holds import hold_history
from harness.history import records
from tests.histories import building, language
from tests.histories.words import fault_words
from tests.support import text_tables


def _attributed(
    text: str, applied: list[records.FaultApplied] | None = None
) -> list[verdicts.DoubleAllocation]:
    folded = hold_history.fold(language.observe(text))
    found = fault_records.FaultRecords(
        applications=fault_words.applications(text) if applied is None else applied, exists=True
    )
    attributor = fault_attribution.Attributor(found, folded.holds)
    result = device_exclusivity.check(folded, lambda _: None)
    results = [attributor.review(device_exclusivity.CHECK, result)]
    return verdicts.double_allocations(results)


def _sentence(text: str) -> str:
    [violation] = _attributed(text)
    assert [effect.text for effect in violation.faults] or violation.attribution == NONE
    return violation.attribution


NONE = "no fault explains it"
UNSEEN = "the scheduler could not know of it"
NAMED = [
    columns
    for part, columns in text_tables.rows(__file__, "fault_sentences.txt")
    if part == "named"
]


@pytest.mark.parametrize(("text", "expected"), NAMED)
def test_the_fault_behind_it_is_named(text: str, expected: str) -> None:
    assert _sentence(text) == expected


@pytest.mark.parametrize("text", text_tables.cases(__file__, "fault_sentences.txt", "not named"))
def test_what_explains_nothing_is_not_named(text: str) -> None:
    assert _sentence(text) == NONE


@pytest.mark.parametrize(
    "change",
    [
        {"client": "kubelet"},
        {"uid": "uid-another"},
        {"namespace": "elsewhere"},
        {"resource": "pods"},
        {"subresource": ""},
    ],
    ids=str,
)
def test_a_rejection_of_another_call_is_not_named(change: dict[str, str]) -> None:
    text = "a= /reject:a a+D1 b+D1"
    [applied] = fault_words.applications(text)
    [violation] = _attributed(text, [msgspec.structs.replace(applied, **change)])
    assert violation.attribution == NONE


@pytest.mark.parametrize("kind", ["delay-events", "drop-watch", "stale-list"])
def test_events_and_reads_of_other_clients_are_not_named(kind: str) -> None:
    text = f"a+D1 /{kind}:a b+D1"
    [applied] = fault_words.applications(text)
    changed = msgspec.structs.replace(applied, client="claim-controller", resource_version=0)
    [violation] = _attributed(text, [changed])
    assert violation.attribution == NONE


def test_each_violation_has_its_own_faults() -> None:
    text = "a+D1 /lose-response:a b+D1 a~ b~ c+D1 /delay-events:c>90 d+D1"
    first, second = _attributed(text)
    assert "write of a was lost" in first.attribution
    assert "the allocation of c reached" in second.attribution
    assert [[effect.fault for effect in item.faults] for item in (first, second)] == [
        ["lose-response"],
        ["delay-events"],
    ]


FOLLOWS = (
    "it follows from an earlier one: a had the device too, and its release at resourceVersion 3 "
    "made it look free while b still held it"
)


def test_the_release_of_an_earlier_double_explains_the_next_one() -> None:
    first, second = _attributed("a+D1 /lose-response:a b+D1 a-D1 /reject:b c+D1")
    assert first.attribution.startswith("the response to the status write of a was lost")
    assert (second.attribution, second.faults) == (FOLLOWS, [])


def test_unless_the_event_of_the_first_claim_had_not_arrived() -> None:
    _, second = _attributed("a+D1 b+D1 /delay-events:b>50 a-D1 c+D1")
    assert second.attribution.endswith(UNSEEN)


@pytest.mark.parametrize(
    "text", ["a+D1 a-D1 b+D1 c+D1", "d+D2 a+D1 d-D2 b+D1 a-D1", "a+D1 b= b+D1 a-D1"]
)
def test_other_releases_explain_nothing(text: str) -> None:
    assert _attributed(text)[0].attribution == NONE


def test_an_effect_has_its_object_version_and_time() -> None:
    [violation] = _attributed(". a+D1 /delay-events:a>40 b+D1")
    assert violation.faults == [
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
    [violation] = _attributed(text, [applied, other])
    assert "reached scheduler-2 89 ms late" in violation.attribution
    assert "reached the scheduler 89 ms late" in violation.attribution


def test_a_run_without_faults_says_nothing_of_them(tmp_path: pathlib.Path) -> None:
    judgement = judging.judge(building.build(tmp_path / "run", "a+D1 b+D1"))
    [violation] = verdicts.double_allocations(judgement.checks)
    assert (violation.faults, violation.attribution) == ([], "")


def test_verdict_json_names_them(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 /lose-response:a b+D1")
    verdict_files.write(directory, judging.judge(directory))
    [violation] = verdict_files.read(directory)["checks"][0]["violations"]
    assert [effect["fault"] for effect in violation["faults"]] == ["lose-response"]
    assert violation["attribution"].startswith("the response to the status write of a was lost")
    verdict_files.require_own(directory, judging.judge(directory))

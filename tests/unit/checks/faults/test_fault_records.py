"""The item `faults` of the certificate: what proves that faults took effect and what does not."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.checks.faults import fault_records
from harness.history import plans, records
from harness.scenario import fault_kinds
from tests.histories import building, damages

TEXT = "a+D1 /lose-response:a b+D2 /lose-response:b"
QUESTION = "Did every fault that the scenario demands take effect?"


def _judged(
    tmp_path: pathlib.Path,
    *damage: damages.Damage,
    text: str = TEXT,
    faults: list[plans.PlannedFault] | None = None,
) -> verdict_files.Judgement:
    directory = building.build(tmp_path / "run", text, faults=faults)
    for do in damage:
        do(directory)
    return judging.judge(directory)


def _reason(judgement: verdict_files.Judgement) -> str:
    """The reason of an item that does not hold, and that alone makes the run UNKNOWN."""
    [item] = [item for item in judgement.certificate if item.name == "faults"]
    assert not item.ok
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert f"faults: {item.reason}" in judgement.reason
    return item.reason


def _planned(**options: Any) -> list[plans.PlannedFault]:
    return [building.fault("lose-response", **options)]


def test_a_run_without_faults_is_not_asked(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path, text="a+D1")
    assert "faults" not in {item.name for item in judgement.certificate}


def test_faults_that_took_effect_and_were_healed(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path)
    [item] = [item for item in judgement.certificate if item.name == "faults"]
    assert (item.question, item.ok, item.reason) == (
        QUESTION,
        True,
        "lose-response: 2 times; healed",
    )
    assert judgement.verdict is verdicts.Verdict.VALID
    assert "faults.jsonl" in judgement.evidence


def test_a_fault_that_never_took_effect(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path, text="a+D1", faults=_planned())
    assert _reason(judgement) == "lose-response never took effect"


KINDS = sorted(fault_kinds.BY_NAME.keys() - {"nemesis"})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("remedies", [[], ["fence-predecessor"]])
@pytest.mark.parametrize("hazard", ["", "H3"])
@pytest.mark.parametrize("required", [True, False])
def test_zero_effects_of_a_demanded_fault_of_any_kind(
    kind: str, remedies: list[str], hazard: str, required: bool
) -> None:
    """In a run that is to show a hazard, all faults are demanded, unless a remedy is on."""
    planned = building.fault(kind, required=required)
    demands_all = fault_records.demands_all(
        msgspec.structs.replace(building.plan(), known_to_fail=hazard, remedies=remedies)
    )
    window = records.FaultWindow(
        fault=planned.name, kind=kind, begun_ns=1, ended_ns=2, applied_count=0, error=""
    )
    found = fault_records.FaultRecords(
        planned=[planned],
        windows=[window],
        demands_all=demands_all,
        exists=True,
        is_complete=True,
    )
    is_demanded = required or bool(hazard and not remedies)
    assert fault_records.answer(found) == (
        (False, f"{planned.name} never took effect")
        if is_demanded
        else (True, f"{planned.name}: 0 times; healed")
    )


def test_unless_it_is_not_required(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path, text="a+D1", faults=_planned(required=False))
    assert judgement.verdict is verdicts.Verdict.VALID


def test_of_the_faults_of_a_nemesis_one_suffices(tmp_path: pathlib.Path) -> None:
    drawn = [building.fault(kind, drawn_by="chaos") for kind in ("lose-response", "drop-watch")]
    assert _judged(tmp_path, faults=drawn).verdict is verdicts.Verdict.VALID


@pytest.mark.parametrize("required", [True, False])
def test_a_nemesis_without_any_effect(tmp_path: pathlib.Path, required: bool) -> None:
    drawn = [
        building.fault(kind, drawn_by="chaos", required=required)
        for kind in ("lose-response", "drop-watch")
    ]
    judgement = _judged(tmp_path, text="a+D1", faults=drawn)
    if required:
        assert _reason(judgement) == "no fault that chaos has drawn took effect"
    else:
        assert judgement.verdict is verdicts.Verdict.VALID


def test_the_faults_of_another_nemesis_do_not_suffice(tmp_path: pathlib.Path) -> None:
    drawn = [
        building.fault("lose-response", drawn_by="chaos"),
        building.fault("drop-watch", drawn_by="night"),
    ]
    reason = _reason(_judged(tmp_path, faults=drawn))
    assert reason == "no fault that night has drawn took effect"


@pytest.mark.parametrize("count", [1, 4, 5])
@pytest.mark.parametrize("required", [True, False])
def test_a_fault_that_happened_less_often_than_it_has_to(count: int, required: bool) -> None:
    planned = plans.PlannedFault(
        name="it", kind="restart-api-server", carrier="run", text="", required=required, owed=5
    )
    applied = [
        records.FaultApplied(fault="it", kind=planned.kind, begun_ns=2, ended_ns=3)
        for _ in range(count)
    ]
    window = records.FaultWindow(
        fault="it", kind=planned.kind, begun_ns=1, ended_ns=4, applied_count=count
    )
    found = fault_records.FaultRecords(
        planned=[planned],
        applications=applied,
        windows=[window],
        exists=True,
        is_complete=True,
    )
    ok, reason = fault_records.answer(found)
    assert ok is (count == 5 or not required)
    assert ("of 5" in reason) is (count < 5)


def test_a_fault_that_failed(tmp_path: pathlib.Path) -> None:
    why = "it could not be healed: the carrier does not answer"

    def fail(body: damages.Body) -> damages.Body:
        return [
            msgspec.structs.replace(item, error=why)
            if isinstance(item, records.FaultWindow)
            else item
            for item in body
        ]

    reason = _reason(_judged(tmp_path, damages.changed(damages.faults, fail)))
    assert reason == f"lose-response: {why}"


def test_no_record(tmp_path: pathlib.Path) -> None:
    reason = _reason(_judged(tmp_path, damages.missing(damages.faults)))
    assert reason == "the run left no record of its faults; lose-response never took effect"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damages.no_trailer, "the records of faults have no trailer: the writer was not closed"),
        (damages.torn, "the last line of the records of faults is incomplete"),
        (damages.garbled, "the records of faults are damaged"),
        (damages.of_another_run, "the records of faults are damaged"),
    ],
)
def test_a_damaged_record(tmp_path: pathlib.Path, damage: Any, reason: str) -> None:
    judgement = _judged(tmp_path, damage(damages.faults))
    assert reason in _reason(judgement)
    is_damage = damage in (damages.garbled, damages.of_another_run)
    assert ("files: faults.jsonl" in judgement.reason) is is_damage


def _is_window(record: records.Body) -> bool:
    return isinstance(record, records.FaultWindow)


def _is_application(record: records.Body) -> bool:
    return isinstance(record, records.FaultApplied)


def test_a_fault_that_was_never_healed(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path, damages.dropped(damages.faults, _is_window))
    assert _reason(judgement) == "lose-response was never healed"


def test_an_effect_that_is_not_recorded(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path, damages.dropped(damages.faults, _is_application, first=True))
    assert _reason(judgement) == "lose-response took effect 2 times, but 1 are recorded"


def test_several_windows_are_added_up(tmp_path: pathlib.Path) -> None:
    def halve(body: damages.Body) -> damages.Body:
        window = next(item for item in body if isinstance(item, records.FaultWindow))
        half = msgspec.structs.replace(window, applied_count=1)
        return [*(item for item in body if item is not window), half, half]

    judgement = _judged(tmp_path, damages.changed(damages.faults, halve))
    assert judgement.verdict is verdicts.Verdict.VALID


def test_a_fault_that_is_not_planned(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path, faults=[building.fault("delay-events", required=False)])
    assert _reason(judgement) == "lose-response is not in the plan"


def test_a_record_of_a_run_without_faults(tmp_path: pathlib.Path) -> None:
    def add(directory: Any) -> None:
        window = records.FaultWindow(
            fault="stray", kind="reject", begun_ns=1, ended_ns=2, applied_count=0
        )
        building.write(directory.faults, [window], process="faults")

    assert _reason(_judged(tmp_path, add, text="a+D1")) == "stray is not in the plan"


@pytest.mark.parametrize("limits", [{"rule": {"count": 1}}, {"parameters": {"times": 1}}])
def test_more_effects_than_planned(tmp_path: pathlib.Path, limits: dict[str, Any]) -> None:
    judgement = _judged(tmp_path, faults=_planned(**limits))
    assert _reason(judgement) == "lose-response took effect 2 times, expected at most 1"


@pytest.mark.parametrize("limits", [{"rule": {"count": None}}, {"rule": {"count": 2}}])
def test_as_many_effects_as_planned(tmp_path: pathlib.Path, limits: dict[str, Any]) -> None:
    assert _judged(tmp_path, faults=_planned(**limits)).verdict is verdicts.Verdict.VALID


def test_an_effect_on_another_client(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path, faults=_planned(clients=["kubelet", "traffic"]))
    assert _reason(judgement) == "lose-response hit scheduler, expected kubelet or traffic"


def test_the_recorder_as_a_victim(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path, faults=_planned(clients=["scheduler", "recorder"]))
    assert _reason(judgement) == "lose-response applies to the recorder, whose record is judged"


def test_no_gap_in_the_record_hides_a_violation(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 /lose-response:a b+D1")
    damages.missing(damages.faults)(directory)
    assert judging.judge(directory).verdict is verdicts.Verdict.INVALID


def test_an_empty_record_without_a_plan_is_harmless() -> None:
    found = fault_records.FaultRecords(exists=True, is_complete=True)
    assert fault_records.answer(found) == (True, "no fault was planned, none is recorded")


def test_an_effect_after_the_fault_was_healed(tmp_path: pathlib.Path) -> None:
    def change(body: damages.Body) -> damages.Body:
        return [
            msgspec.structs.replace(item, ended_ns=item.begun_ns)
            if isinstance(item, records.FaultWindow)
            else item
            for item in body
        ]

    judgement = _judged(tmp_path, damages.changed(damages.faults, change))
    assert _reason(judgement) == (
        "lose-response took effect before it began or after it was healed"
    )


def _answer(begun_ns: int, *windows: tuple[int, int]) -> tuple[bool, str]:
    """Return the answer about a fault that took effect once, in the first of its windows."""
    application = records.FaultApplied(fault="drop", kind="drop-watch", begun_ns=begun_ns)
    found = fault_records.FaultRecords(
        planned=[building.fault("drop-watch", name="drop")],
        applications=[application],
        windows=[
            records.FaultWindow(
                fault="drop", kind="drop-watch", begun_ns=begun, ended_ns=ended, applied_count=count
            )
            for count, (begun, ended) in zip((1, 0), windows, strict=False)
        ],
        exists=True,
        is_complete=True,
    )
    return fault_records.answer(found)


@pytest.mark.parametrize("begun_ns", [10, 20])
def test_a_window_has_its_beginning_and_its_end(begun_ns: int) -> None:
    assert _answer(begun_ns, (10, 20)) == (True, "drop: once; healed")


@pytest.mark.parametrize("begun_ns", [9, 21])
def test_what_is_outside_is_not_in_order(begun_ns: int) -> None:
    ok, reason = _answer(begun_ns, (10, 20))
    assert not ok
    assert reason == "drop took effect before it began or after it was healed"


def test_one_of_several_windows_is_enough() -> None:
    assert _answer(15, (10, 20), (30, 40)) == (True, "drop: once; healed")

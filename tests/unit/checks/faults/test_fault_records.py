"""The item `faults` of the certificate: what proves that faults took effect and what does not."""

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.checks.faults import fault_records
from harness.history import plans, records
from tests.histories import building, damages

TEXT, NONE = "a+D1 /lose-response:a b+D2 /lose-response:b", "a+D1"
VALID = verdicts.Verdict.VALID


def _judged(
    tmp_path: pathlib.Path,
    *damage: damages.Damage,
    text: str = TEXT,
    faults: Sequence[plans.PlannedFault] | None = None,
    **changes: Any,
) -> verdict_files.Judgement:
    given = None if faults is None else list(faults)
    directory = building.build(tmp_path / "run", text, faults=given, changes=changes)
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


def _drawn(*nemeses: str, **options: Any) -> list[plans.PlannedFault]:
    kinds = ("lose-response", "drop-watch")
    drawn = zip(kinds, nemeses, strict=True)
    return [building.fault(kind, drawn_by=nemesis, **options) for kind, nemesis in drawn]


def test_faults_that_took_effect_and_were_healed(tmp_path: pathlib.Path) -> None:
    judgement = _judged(tmp_path)
    [item] = [item for item in judgement.certificate if item.name == "faults"]
    assert (item.ok, item.reason) == (True, "lose-response: 2 times; healed")
    assert judgement.verdict is VALID
    assert "faults.jsonl" in judgement.evidence
    plain = _judged(tmp_path / "without", text=NONE)
    assert "faults" not in {item.name for item in plain.certificate}


@pytest.mark.parametrize(
    ("text", "faults", "reason"),
    [
        (NONE, _planned(), "lose-response never took effect"),
        (NONE, _drawn("chaos", "chaos"), "no fault that chaos has drawn took effect"),
        (TEXT, _drawn("chaos", "night"), "no fault that night has drawn took effect"),
        (TEXT, [building.fault("delay-events", required=False)], "lose-response is not in the plan"),
        (TEXT, _planned(rule={"count": 1}), "lose-response took effect 2 times, expected at most 1"),
        (TEXT, _planned(parameters={"times": 1}), "lose-response took effect 2 times, expected at most 1"),
        (TEXT, _planned(clients=["kubelet", "traffic"]), "lose-response hit scheduler, expected kubelet or traffic"),
        (TEXT, _planned(clients=["scheduler", "recorder"]), "lose-response applies to the recorder, whose record is judged"),
        (TEXT, _planned(owed=3), "lose-response took effect 2 times of 3"),
    ],
)  # fmt: skip
def test_the_plan_says_what_has_to_happen(
    tmp_path: pathlib.Path, text: str, faults: list[plans.PlannedFault], reason: str
) -> None:
    assert _reason(_judged(tmp_path, text=text, faults=faults)) == reason


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (NONE, _planned(required=False)),
        (NONE, _drawn("chaos", "chaos", required=False)),
        (TEXT, _drawn("chaos", "chaos")),
        (TEXT, _planned(rule={"count": None})),
        (TEXT, _planned(rule={"count": 2})),
        (TEXT, _planned(owed=2)),
        (TEXT, _planned(owed=3, required=False)),
    ],
)
def test_no_more_is_demanded(
    tmp_path: pathlib.Path, text: str, faults: list[plans.PlannedFault]
) -> None:
    assert _judged(tmp_path, text=text, faults=faults).verdict is VALID


@pytest.mark.parametrize("remedies", [[], ["fence-predecessor"]])
def test_a_run_that_is_to_show_a_hazard_demands_all_unless_a_remedy_is_on(
    tmp_path: pathlib.Path, remedies: list[str]
) -> None:
    faults = _planned(required=False)
    judgement = _judged(tmp_path, text=NONE, faults=faults, known_to_fail="H3", remedies=remedies)
    [item] = [item for item in judgement.certificate if item.name == "faults"]
    assert item.ok is bool(remedies)


# ------------------------------------------------------------------------------- the record


def _windows(change: Callable[[records.FaultWindow], list[records.Body]]) -> damages.Damage:
    def changed(body: damages.Body) -> damages.Body:
        return [
            made
            for item in body
            for made in (change(item) if isinstance(item, records.FaultWindow) else [item])
        ]

    return damages.changed(damages.faults, changed)


def _replaced(**fields: Any) -> damages.Damage:
    return _windows(lambda window: [msgspec.structs.replace(window, **fields)])


OUTSIDE = _windows(lambda window: [msgspec.structs.replace(window, ended_ns=window.begun_ns)])
HALVES = _windows(lambda window: [msgspec.structs.replace(window, applied_count=1)] * 2)
LOST = damages.dropped(
    damages.faults, lambda item: isinstance(item, records.FaultApplied), first=True
)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_replaced(error="the carrier does not answer"), "lose-response: the carrier does not answer"),
        (damages.missing(damages.faults), "the run left no record of its faults; lose-response never took effect"),
        (_windows(lambda _: []), "lose-response was never healed"),
        (LOST, "lose-response took effect 2 times, but 1 are recorded"),
        (OUTSIDE, "lose-response took effect before it began or after it was healed"),
    ],
)  # fmt: skip
def test_a_record_that_proves_nothing(
    tmp_path: pathlib.Path, damage: damages.Damage, reason: str
) -> None:
    assert _reason(_judged(tmp_path, damage)) == reason


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


def test_several_windows_are_added_up(tmp_path: pathlib.Path) -> None:
    assert _judged(tmp_path, HALVES).verdict is VALID


def test_a_record_of_a_run_without_faults(tmp_path: pathlib.Path) -> None:
    def add(directory: Any) -> None:
        window = records.FaultWindow(
            fault="stray", kind="reject", begun_ns=1, ended_ns=2, applied_count=0
        )
        building.write(directory.faults, [window], process="faults")

    assert _reason(_judged(tmp_path, add, text=NONE)) == "stray is not in the plan"


def test_no_gap_in_the_record_hides_a_violation(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 /lose-response:a b+D1")
    damages.missing(damages.faults)(directory)
    assert judging.judge(directory).verdict is verdicts.Verdict.INVALID


@pytest.mark.parametrize(("begun_ns", "ok"), [(9, False), (10, True), (20, True), (21, False)])
def test_a_window_has_its_beginning_and_its_end(begun_ns: int, ok: bool) -> None:
    window = records.FaultWindow(
        fault="drop", kind="drop-watch", begun_ns=10, ended_ns=20, applied_count=1
    )
    later = msgspec.structs.replace(window, begun_ns=30, ended_ns=40, applied_count=0)
    found = fault_records.FaultRecords(
        planned=[building.fault("drop-watch", name="drop")],
        applications=[records.FaultApplied(fault="drop", kind="drop-watch", begun_ns=begun_ns)],
        windows=[window, later],
        exists=True,
        is_complete=True,
    )
    assert fault_records.answer(found)[0] is ok

"""The item `faults` of the certificate: what proves that faults took effect and what does not."""

import itertools
import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import fault_records, verdicts
from harness.history import directories, plans, records
from tests.histories import building, damages, judged_runs

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
TEXT = "a+D1 /lose-response:a b+D2 /lose-response:b"
QUIET = "a+D1"
"""The fault of the plan never takes effect."""
FAILED = "it could not be healed: the carrier does not answer"


def of(*kinds: str, **options: Any) -> list[plans.PlannedFault]:
    return [building.fault(kind, **options) for kind in kinds or ("lose-response",)]


def _windows(**changes: Any) -> damages.Damage:
    return damages.changed(
        damages.faults,
        lambda body: [
            msgspec.structs.replace(item, **changes)
            if isinstance(item, records.FaultWindow)
            else item
            for item in body
        ],
    )


def _is(kind: type[records.Body]) -> Any:
    return lambda record: isinstance(record, kind)


def _halved(body: damages.Body) -> damages.Body:
    """Two windows of the fault, with one effect each."""
    window = next(item for item in body if isinstance(item, records.FaultWindow))
    half = msgspec.structs.replace(window, applied_count=1)
    return [*(item for item in body if item is not window), half, half]


def _stray(directory: directories.RunDirectory) -> None:
    window = records.FaultWindow(
        fault="stray", kind="reject", begun_ns=1, ended_ns=2, applied_count=0
    )
    building.write(directory.faults, [window], process="faults")


CHAOS = {"drawn_by": "chaos"}
DRAWN = of("lose-response", "drop-watch", **CHAOS)
NEVER, LEAST = "lose-response never took effect", of(required=False)
IN_ORDER = "lose-response took effect before it began or after it was healed"


@pytest.mark.parametrize(
    ("text", "faults", "damage", "reason"),
    [
        (TEXT, None, None, ""),
        (TEXT, None, damages.changed(damages.faults, _halved), ""),
        (QUIET, of(), None, NEVER),
        (QUIET, LEAST, None, ""),
        (TEXT, DRAWN, None, ""),  # of the faults of a nemesis, one suffices
        (QUIET, DRAWN, None, "no fault that chaos has drawn took effect"),
        (QUIET, of("lose-response", "drop-watch", required=False, **CHAOS), None, ""),
        (TEXT, [DRAWN[0], *of("drop-watch", drawn_by="night")], None, "no fault that night has drawn took effect"),
        (TEXT, None, _windows(error=FAILED), f"lose-response: {FAILED}"),
        (TEXT, None, _windows(ended_ns=0), IN_ORDER),
        (TEXT, None, damages.missing(damages.faults), f"the run left no record of its faults; {NEVER}"),
        (TEXT, None, damages.no_trailer(damages.faults), "the records of faults have no trailer"),
        (TEXT, None, damages.torn(damages.faults), "the last line of the records of faults is"),
        (TEXT, None, damages.garbled(damages.faults), "the records of faults are damaged"),
        (TEXT, None, damages.of_another_run(damages.faults), "the records of faults are damaged"),
        (TEXT, None, damages.dropped(damages.faults, _is(records.FaultWindow)), "lose-response was never healed"),
        (TEXT, None, damages.dropped(damages.faults, _is(records.FaultApplied), first=True), "lose-response took effect 2 times, but 1 are recorded"),
        (TEXT, None, _windows(applied_count=1), "lose-response took effect once, but 2 are recorded"),
        (TEXT, of("delay-events", required=False), None, "lose-response is not in the plan"),
        (QUIET, None, _stray, "stray is not in the plan"),
        (TEXT, of(rule={"count": 1}), None, "lose-response took effect 2 times, expected at most 1"),
        (TEXT, of(parameters={"times": 1}), None, "lose-response took effect 2 times, expected at most 1"),
        (TEXT, of(rule={"count": None}), None, ""),
        (TEXT, of(rule={"count": 2}), None, ""),
        (TEXT, of(clients=["kubelet", "traffic"]), None, "lose-response hit scheduler, expected kubelet or traffic"),
        (TEXT, of(clients=["scheduler", "recorder"]), None, "lose-response applies to the recorder, whose record is judged"),
    ],
)  # fmt: skip
def test_what_the_record_of_the_faults_proves(
    tmp_path: pathlib.Path, text: str, faults: Any, damage: damages.Damage | None, reason: str
) -> None:
    done = [damage] if damage else []
    judgement = judged_runs.judge(tmp_path, text, *done, faults=faults)
    ok, told = judged_runs.item(judgement, "faults")
    assert (ok, judgement.verdict) == (not reason, UNKNOWN if reason else VALID)
    assert told.startswith(reason)
    assert ok or f"faults: {told}" in judgement.reason


def test_effects_and_healing_are_told_and_their_record_is_evidence(tmp_path: pathlib.Path) -> None:
    judgement = judged_runs.judge(tmp_path / "faults", TEXT)
    assert judged_runs.item(judgement, "faults") == (True, "lose-response: 2 times; healed")
    assert "faults.jsonl" in judgement.evidence
    without = judged_runs.judge(tmp_path / "none", QUIET)
    assert "faults" not in {item.name for item in without.certificate}


def test_no_gap_in_the_record_hides_a_violation(tmp_path: pathlib.Path) -> None:
    missing = damages.missing(damages.faults)
    text = "a+D1 /lose-response:a b+D1"
    assert judged_runs.judge(tmp_path, text, missing).verdict is INVALID


def _answer(
    planned: plans.PlannedFault, *begun_ns: int, windows: Any = ((1, 99),)
) -> tuple[bool, str]:
    """The answer about a fault that took effect at these times, all in the first of its windows."""
    counts = itertools.chain([len(begun_ns)], itertools.repeat(0))
    named = {"fault": planned.name, "kind": planned.kind}
    found = fault_records.FaultRecords(
        planned=[planned],
        applications=[records.FaultApplied(**named, begun_ns=begun) for begun in begun_ns],
        windows=[
            records.FaultWindow(**named, begun_ns=begun, ended_ns=ended, applied_count=count)
            for count, (begun, ended) in zip(counts, windows, strict=False)
        ],
        exists=True,
        is_complete=True,
    )
    return fault_records.answer(found)


@pytest.mark.parametrize(
    ("hazard", "remedies", "ok"),
    [("", [], True), ("H3", [], False), ("", ["fence"], True), ("H3", ["fence"], True)],
)
def test_a_run_that_is_to_show_a_hazard_demands_all_unless_a_remedy_is_on(
    tmp_path: pathlib.Path, hazard: str, remedies: list[str], ok: bool
) -> None:
    changes = {"known_to_fail": hazard, "remedies": remedies}
    judgement = judged_runs.judge(tmp_path, QUIET, faults=LEAST, changes=changes)
    assert judged_runs.item(judgement, "faults")[0] is ok


@pytest.mark.parametrize("count", [1, 4, 5])
@pytest.mark.parametrize("required", [True, False])
def test_a_fault_that_happened_less_often_than_it_has_to(count: int, required: bool) -> None:
    planned = building.fault("restart-api-server", required=required, owed=5)
    ok, reason = _answer(planned, *[2] * count)
    assert ok is (count == 5 or not required)
    assert ("of 5" in reason) is (count < 5)


@pytest.mark.parametrize(
    ("begun_ns", "windows", "ok"),
    [
        (10, [(10, 20)], True),
        (20, [(10, 20)], True),
        (9, [(10, 20)], False),
        (21, [(10, 20)], False),
        (15, [(10, 20), (30, 40)], True),
    ],
)
def test_an_effect_is_in_one_of_the_windows(begun_ns: int, windows: Any, ok: bool) -> None:
    found = _answer(building.fault("drop-watch"), begun_ns, windows=windows)
    told = "drop-watch took effect before it began or after it was healed"
    assert found == ((True, "drop-watch: once; healed") if ok else (False, told))


def test_an_empty_record_without_a_plan_is_harmless() -> None:
    found = fault_records.FaultRecords(exists=True, is_complete=True)
    assert fault_records.answer(found) == (True, "no fault was planned, none is recorded")
    assert _answer(building.fault("drop-watch", required=False), windows=())[0], "it never began"


def test_the_ends_of_the_api_server() -> None:
    ends = [("restart-api-server", 0, 0), ("kill-process", 2, 3), ("restart-api-server", 6, 8)]
    applied = [
        records.FaultApplied(fault="f", kind=kind, begun_ns=5, alive_ns=alive, dead_ns=dead)
        for kind, alive, dead in ends
    ]
    found = fault_records.FaultRecords(applications=applied)
    assert fault_records.api_server_ends(found) == [(5, 5), (6, 8)]

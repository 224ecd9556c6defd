"""Spotting violations while the run goes on."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdicts
from harness.history import directories, plans
from harness.run import spotting
from tests.histories import building
from tests.histories.specimens import GOLDEN
from tests.support import cases


def claim(uid: str, *devices: str, **flags: object) -> dict[str, Any]:
    results = [{"driver": "d", "pool": "p", "device": name, **flags} for name in devices]
    status = {"allocation": {"devices": {"results": results}}} if devices else {}
    return {"metadata": {"uid": uid}, "status": status}


@pytest.fixture
def spotter() -> spotting.DoubleAllocationSpotter:
    return spotting.DoubleAllocationSpotter()


def test_a_device_in_two_claims_is_found(spotter: spotting.DoubleAllocationSpotter) -> None:
    spotter.on_add(claim("a", "1"), initial=False)
    spotter.on_add(claim("b", "2"), initial=False)
    assert spotter.found is None
    spotter.on_update(claim("b", "2"), claim("b", "1"))
    assert spotter.found == "d/p/1"


def test_one_claim_after_the_other_is_nothing(spotter: spotting.DoubleAllocationSpotter) -> None:
    spotter.on_add(claim("a", "1"), initial=False)
    spotter.on_update(claim("a", "1"), claim("a"))
    spotter.on_add(claim("b", "1"), initial=False)
    spotter.on_delete(claim("b", "1"))
    spotter.on_add(claim("c", "1"), initial=False)
    assert spotter.found is None


@pytest.mark.parametrize("flags", [{"adminAccess": True}, {"shareID": "s"}])
def test_what_is_meant_to_be_shared_is_nothing(
    spotter: spotting.DoubleAllocationSpotter, flags: dict[str, object]
) -> None:
    spotter.on_add(claim("a", "1"), initial=False)
    spotter.on_add(claim("b", "1", **flags), initial=False)
    assert spotter.found is None


def spotters(plan: plans.Plan, folder: pathlib.Path) -> list[str]:
    plan = msgspec.structs.replace(plan, until_found=True)
    made = spotting.of_run(plan, directories.RunDirectory(folder))
    return [type(item).__name__ for item in made]


def test_the_record_of_shares_and_counters_is_looked_at(tmp_path: pathlib.Path) -> None:
    plan = building.plan()
    assert spotters(plan, tmp_path) == ["DoubleAllocationSpotter"]
    plan.settings["pools"] = {"more": [{"shared": True}]}
    assert spotters(plan, tmp_path) == ["DoubleAllocationSpotter", "RecordSpotter"]


# --------------------------------------------------------------------------- what was recorded


@pytest.mark.parametrize(("defects", "expected"), cases.read(__file__, "otherwise"))
def test_where_a_defect_shows_otherwise_the_record_is_looked_at(
    tmp_path: pathlib.Path, defects: list[str], expected: str
) -> None:
    plan = msgspec.structs.replace(building.plan(), defects=defects)
    assert spotters(plan, tmp_path) == [expected]


UNSEEN = {
    "claim_progress",
    "leftover_preparations",
    "resource_leaks",
    "device_exclusivity",
}
"""Checks of the end, and one with a spotter of its own."""
RECORDS = sorted(path.parent for path in GOLDEN.glob("*/*/plan.json"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_violation_is_found_in_the_second_look(
    monkeypatch: pytest.MonkeyPatch, record: pathlib.Path
) -> None:
    monkeypatch.setattr(spotting, "LOOK_S", 0)
    monkeypatch.setattr(spotting, "LOOK_SHARE", 0)
    spotter = spotting.RecordSpotter(directories.RunDirectory(record))
    assert spotter.found is None
    is_seen = record.name.startswith("INVALID") and record.parent.name not in UNSEEN
    assert (spotter.found is not None) is is_seen


def test_between_two_looks_there_is_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    looks: list[object] = []

    def look(*_: object, **__: object) -> list[verdicts.Violation]:
        looks.append(None)
        return []

    monkeypatch.setattr(judging, "violations_so_far", look)
    spotter = spotting.RecordSpotter(directories.RunDirectory(tmp_path))
    assert [spotter.found for _ in range(100)] == [None] * 100
    assert len(looks) == 1

"""Only what a plan asks for is folded, and a check is given what it needs, and nothing else."""

import pathlib
from typing import Any

import pytest

from harness.checks import check_registry, judging, protocol, verdicts
from harness.checks.devices import device_timelines
from harness.checks.holds import hold_history
from harness.checks.progress import resource_leaks
from tests.histories import building

SCHEDULERS = {"schedulers": [{"scheduler_name": "one"}]}


def test_a_check_gets_nothing_but_what_it_needs() -> None:
    check = protocol.Check(
        name="idle",
        guarantee="X",
        promise="it rains",
        needs=(resource_leaks.GarbageCollection,),
        judge=lambda evidence: evidence[hold_history.HoldHistory],  # type: ignore[arg-type,return-value]
    )
    works = resource_leaks.GarbageCollection()
    evidence = protocol.Evidence(building.plan(), {resource_leaks.GarbageCollection: works})
    assert evidence.of(check)[resource_leaks.GarbageCollection] is works
    with pytest.raises(LookupError, match="expected HoldHistory in the needs of the check"):
        check.judge(evidence.of(check))


STEPS = [
    building.step(0, "main", "slice-tracker.handled", 1, of="slices", version=4),
    building.step(1, "main", "scheduling.started", 2, pod="p"),
    building.step(2, "main", "in-flight.added", 3, claim="uid-a"),
]
VIEW = {"uid-a": device_timelines.View(slices=4)}


@pytest.mark.parametrize(
    ("kinds", "expected"), [(["taint"], VIEW), (["remove"], VIEW), ([], {})], ids=str
)
def test_what_the_scheduler_knew_is_read_if_a_check_asks_for_it(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    kinds: list[str],
    expected: dict[str, device_timelines.View],
) -> None:
    settings = {
        "subject": SCHEDULERS,
        "pools": {"changes": [{"kind": kind, "name": kind} for kind in kinds]},
    }
    given = _given(tmp_path, monkeypatch, {"settings": settings})
    assert given[device_timelines.AttemptViews] == expected


def _given(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> protocol.Evidence:
    """Judge a run; return what its checks are given."""
    noted: list[protocol.Evidence] = []

    def note(item: protocol.Evidence) -> verdicts.NotExamined:
        noted.append(item)
        return verdicts.NotExamined(check="noted", promise="", reason="it only looks")

    needs = (device_timelines.AttemptViews,)
    check = protocol.Check(name="noted", guarantee="X", promise="", needs=needs, judge=note)
    monkeypatch.setattr(check_registry, "CHECKS", [check])
    judging.judge(building.build(path / "run", "a+D1", steps=STEPS, changes=changes))
    [given] = noted
    return given

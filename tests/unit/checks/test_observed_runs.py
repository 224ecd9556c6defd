"""A plan asks folders for observations, and checks are given what the scheduler wrote."""

import dataclasses
import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import check_inputs, check_registry, judging, observed_runs, verdicts
from harness.checks.claim_control import controller_records
from harness.checks.observed import observations
from harness.checks.taints import attempt_views
from harness.history import plans
from tests.histories import building

REUSE = plans.Requirements(allocations_min=0, pods_running_min=0, reuse_min=1)
SCHEDULERS = {"schedulers": [{"scheduler_name": "one"}]}
ALL = [observations.CLAIMS, observations.PODS]
OF_ALLOCATIONS = ["allocated.made", "allocated.catalogue", "allocated.demand", "pools"]

ASKED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "competition": ({"requirements": REUSE}, ["waiting"]),
    "progress": ({"progress_s": 5.0}, ["final"]),
    "controller": (
        {"progress_s": 5.0, "expected_steps": [controller_records.CONTROLLER]},
        ["final", "controller"],
    ),
    "reservations": (
        {"settings": {"traffic": {"clients": 1}}},
        ["controller", "lives", "pods", "copies"],
    ),
    "parameters": ({"settings": {"claim": {"parameters": {"a": "b"}}}}, ["parameters"]),
    "extended": ({"settings": {"claim": {"extended": "gpu"}}}, ["extended"]),
    "readiness": (
        {"settings": {"pools": {"more": [{"binding_conditions": ["ready"]}]}}},
        ["readiness"],
    ),
    "schedulers": (
        {"settings": {"subject": {"schedulers": [*SCHEDULERS["schedulers"]] * 2}}},
        ["writers"],
    ),
    "taints": (
        {"settings": {"subject": SCHEDULERS, "pools": {"changes": [{"kind": "taint"}]}}},
        ["taints"],
    ),
    "slices": ({"resources": [*ALL, observations.SLICES]}, ["taints", *OF_ALLOCATIONS]),
    "nodes": ({"resources": [*ALL, observations.NODES]}, ["bound"]),
    "slices and nodes": (
        {"resources": [*ALL, observations.SLICES, observations.NODES]},
        ["taints", *OF_ALLOCATIONS, "bound"],
    ),
}


def _names(observed: observed_runs.ObservedRun, plan: plans.Plan) -> list[str]:
    """Return the names of the folders that a plan asks for."""
    fields = {item.name: getattr(observed, item.name) for item in dataclasses.fields(observed)}
    fields |= {
        f"allocated.{name}": getattr(observed.allocated, name)
        for name in ("made", "catalogue", "demand")
    }
    known = {id(folder): name for name, folder in fields.items()}
    return [known[id(folder)] for folder in observed.asked(plan)]


@pytest.mark.parametrize(("changes", "more"), ASKED.values(), ids=ASKED)
def test_only_what_a_plan_asks_for_sees_the_records(
    changes: dict[str, Any], more: list[str]
) -> None:
    plan = msgspec.structs.replace(building.plan(), **changes)
    names = _names(observed_runs.ObservedRun(), plan)
    assert names == ["whole", "declared", *more, "folded"]


STEPS = [
    building.step(0, "main", "slice-tracker.handled", 1, of="slices", version=4),
    building.step(1, "main", "scheduling.started", 2, pod="p"),
    building.step(2, "main", "in-flight.added", 3, claim="uid-a"),
]
VIEW = {"uid-a": attempt_views.View(slices=4)}


@pytest.mark.parametrize(
    ("kinds", "expected"), [(["taint"], VIEW), (["remove"], VIEW), ([], {})], ids=str
)
def test_what_the_scheduler_knew_is_read_if_a_check_asks_for_it(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    kinds: list[str],
    expected: dict[str, attempt_views.View],
) -> None:
    settings = {
        "subject": SCHEDULERS,
        "pools": {"changes": [{"kind": kind, "name": kind} for kind in kinds]},
    }
    given = _given(tmp_path, monkeypatch, {"settings": settings})
    assert given.views == expected


@pytest.mark.parametrize(("progress_s", "processes"), [(5.0, {"scheduler"}), (None, set())])
def test_the_books_of_schedulers_are_read_if_progress_is_judged(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    progress_s: float | None,
    processes: set[str],
) -> None:
    given = _given(tmp_path, monkeypatch, {"progress_s": progress_s})
    assert given.books.keys() == processes


def _given(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> check_inputs.CheckInput:
    """Judge a run; return what its checks are given."""
    noted: list[check_inputs.CheckInput] = []

    def note(item: check_inputs.CheckInput) -> verdicts.NotExamined:
        noted.append(item)
        return verdicts.NotExamined(check="noted", promise="", reason="it only looks")

    monkeypatch.setattr(check_registry, "CHECKS", [check_registry.Check("noted", "", note)])
    judging.judge(building.build(path / "run", "a+D1", steps=STEPS, changes=changes))
    [given] = noted
    return given

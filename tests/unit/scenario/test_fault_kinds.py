"""Faults in scenario files: names, mistakes, overrides."""

import pathlib

import pytest

from harness import errors
from harness.faults import injection
from harness.run.faulting import injector
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds import client_fault, fault, traffic_fault
from tests.unit.scenario import scenario_files


def load(tmp_path: pathlib.Path, faults: str, *overrides: str) -> list[fault.Fault]:
    return scenario_files.load(tmp_path, scenario_files.CHURN + faults, *overrides).scenario.faults


def mistakes(tmp_path: pathlib.Path, faults: str) -> str:
    with pytest.raises(errors.ScenarioError) as caught:
        load(tmp_path, faults)
    return str(caught.value)


def test_two_faults_of_one_name(tmp_path: pathlib.Path) -> None:
    fault = '[[faults]]\nkind = "drop-watch"\nname = "a"\n'
    assert "expected different names, got 'a' twice" in mistakes(tmp_path, fault * 2)


def test_names_of_faults_without_one(tmp_path: pathlib.Path) -> None:
    fault = '[[faults]]\nkind = "drop-watch"\n'
    found = load(tmp_path, f'{fault}name = "drop-watch-2"\n{fault}{fault}')
    assert [name for name, _ in fault_kinds.named(found)] == [
        "drop-watch-2",
        "drop-watch",
        "drop-watch-3",
    ]


def test_a_condition_may_name_a_fault_by_its_kind(tmp_path: pathlib.Path) -> None:
    faults = """
        [[faults]]
        kind = "drop-watch"
        [[faults]]
        kind = "kill-process"
        start_after = { fault = "drop-watch" }
    """
    assert load(tmp_path, faults)[1].start_after == fault.StartSpec(fault="drop-watch")


def test_every_kind_has_a_way_to_be_injected() -> None:
    known = {*injector.ACTS, "plugin", "nemesis"}
    for name, kind in fault_kinds.BY_NAME.items():
        if issubclass(kind, traffic_fault.TrafficFault):
            given = {"kind": name, "seconds": 0.5, "code": 500}
            fields = {key: value for key, value in given.items() if key in kind.model_fields}
            assert isinstance(kind(**fields).action, injection.Action), name
        else:
            assert name in known or issubclass(kind, client_fault.ClientFault), name

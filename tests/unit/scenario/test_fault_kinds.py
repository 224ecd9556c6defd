"""Faults in scenario files: names, mistakes, overrides."""

import pathlib

import pytest

from harness import errors
from harness.faults import injection
from harness.run.faulting import injector
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds import client_fault, fault, traffic_fault, traffic_kinds
from tests.unit.scenario import scenario_files

KINDS = fault_kinds.BY_NAME


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


def test_all_faults_can_be_replaced_on_the_command_line(tmp_path: pathlib.Path) -> None:
    faults = '[[faults]]\nkind = "drop-watch"\n'
    assert load(tmp_path, faults, "faults=[]") == []
    other = 'faults=[{kind = "reject", code = 429, on = {resource = "pods"}}]'
    [found] = load(tmp_path, faults, other)
    assert isinstance(found, traffic_kinds.RejectRequest)
    assert (found.code, found.on.resource) == (429, "pods")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_has_a_way_to_be_injected(kind: type[fault.Fault]) -> None:
    name = next(name for name, other in KINDS.items() if other is kind)
    assert (
        issubclass(kind, traffic_fault.TrafficFault | client_fault.ClientFault)
        or name in injector.ACTS
        or name in ("plugin", "nemesis")
    )


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_of_traffic_has_an_action_of_the_carrier(kind: type[fault.Fault]) -> None:
    """Also one whose carrier can do more than the kind has keys for."""
    if not issubclass(kind, traffic_fault.TrafficFault):
        return
    (name,) = (name for name, other in KINDS.items() if other is kind)
    given = {"kind": name, "seconds": 0.5, "code": 500}
    fields = {key: value for key, value in given.items() if key in kind.model_fields}
    assert isinstance(kind(**fields).action, injection.Action)


def test_a_kind_of_another_version_has_no_effect_that_checks_know() -> None:
    assert fault_kinds.of("of-tomorrow").effect is fault.Effect.OTHER

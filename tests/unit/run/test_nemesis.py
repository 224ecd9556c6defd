"""A nemesis draws faults from the seed, and only such as the run allows and that heal."""

from typing import Any

import pytest

from harness import errors
from harness.cluster import interfaces
from harness.history import plans
from harness.run import fault_planning
from harness.scenario import fault_kinds, specs

ALL = interfaces.Capabilities(restarts_api_server=True)


def drawn(seed: int, *, on: interfaces.Capabilities = ALL, **keys: Any) -> list[plans.PlannedFault]:
    subject = keys.pop("subject", {})
    scenario = specs.Scenario.model_validate(
        {
            "schema_version": 1,
            "name": "faulty",
            "title": "a title",
            "description": "a description",
            "traffic": {"profile": "churn"},
            "load": {"allocations_min": 1, "pods_running_min": 0},
            "subject": {"claim_controller": "python", **subject},
            "faults": [{"kind": "nemesis", "name": "chaos", **keys}],
        }
    )
    return fault_planning.plan(scenario, seed=seed, on=on, provider="embedded").faults


def test_every_kind_but_those_that_need_more_than_chance_can_be_drawn() -> None:
    assert set(fault_planning.DRAWN) == fault_kinds.BY_NAME.keys() - {
        "nemesis",
        "reallocate-claims",
        "lose-node",
        "reboot-node",
        "plugin",
        "overlook-finalizers",
        "evict-by-old-client",
    }


def test_every_kind_is_drawn_in_some_runs() -> None:
    found = {fault.kind for seed in range(60) for fault in drawn(seed)}
    assert found == set(fault_planning.DRAWN)


def test_the_seed_decides() -> None:
    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


@pytest.mark.parametrize("seed", range(20))
def test_all_drawn_faults_are_named_begin_in_time_and_end(seed: int) -> None:
    found = drawn(seed, draws=8, within_s=5, start_s=1)
    assert [fault.name for fault in found] == [
        f"chaos-{number}-{fault.kind}" for number, fault in enumerate(found, 1)
    ]
    assert {fault.drawn_by for fault in found} == {"chaos"}
    assert all(1 <= fault.start_s <= 6 for fault in found)
    assert all(fault.duration_s for fault in found if fault.rule)


def test_nothing_is_drawn_that_the_run_does_not_allow() -> None:
    bare = interfaces.Capabilities()
    outside = {"schedulers": [{"kind": "cluster"}], "claim_controller": "cluster"}
    found = [fault for seed in range(40) for fault in drawn(seed, on=bare, subject=outside)]
    assert found
    assert "restart-api-server" not in {fault.kind for fault in found}
    assert {client for fault in found for client in fault.clients} == {"kubelet"}


@pytest.mark.parametrize("required", [True, False])
def test_drawn_faults_are_required_as_their_nemesis_is(required: bool) -> None:
    assert {fault.required for fault in drawn(1, required=required)} == {required}


def test_kinds_of_which_the_run_allows_none() -> None:
    with pytest.raises(errors.UsageError, match="this run allows, got restart-api-server"):
        drawn(1, on=interfaces.Capabilities(), kinds=["restart-api-server"])

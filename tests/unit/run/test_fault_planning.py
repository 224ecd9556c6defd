"""Faults of a scenario become faults of a plan, or are refused with the reason and a remedy."""

from typing import Any

import msgspec
import pytest

from harness import errors
from harness.cluster import interfaces
from harness.faults import injection, matching
from harness.history import plans
from harness.run import fault_planning
from harness.scenario import fault_kinds, specs
from tests.support import cases

EMBEDDED = interfaces.Capabilities()
ON_DISK = interfaces.Capabilities(restarts_api_server=True)
SHARED = interfaces.Capabilities(exclusive=False, claim_controller=True, restarts_api_server=True)
CLUSTERS = {"embedded": EMBEDDED, "shared": SHARED, "on disk": ON_DISK}
STATUS = {"resource": "resourceclaims", "subresource": "status", "verbs": ["update"]}
CHURN = {"profile": "churn"}


def scenario(
    *faults: dict[str, Any],
    traffic: dict[str, Any] | None = None,
    schedulers: tuple[dict[str, Any], ...] = ({"kind": "python"},),
    controller: str = "python",
) -> specs.Scenario:
    return specs.Scenario.model_validate(
        {
            "schema_version": 1,
            "name": "faulty",
            "title": "a title",
            "description": "a description",
            "traffic": traffic or CHURN,
            "load": {"allocations_min": 1, "pods_running_min": 0},
            "subject": {"schedulers": list(schedulers), "claim_controller": controller},
            "faults": list(faults),
        }
    )


def planned(
    *faults: dict[str, Any],
    on: interfaces.Capabilities = ON_DISK,
    provider: str = "embedded",
    choice: fault_planning.CarrierChoice = "auto",
    seed: int = 1,
    **settings: Any,
) -> fault_planning.PlannedFaults:
    made = scenario(*faults, **settings)
    return fault_planning.plan(made, seed=seed, on=on, provider=provider, choice=choice)


def one(*faults: dict[str, Any], **settings: Any) -> plans.PlannedFault:
    return planned(*faults, **settings).faults[0]


def refusal(*faults: dict[str, Any], **settings: Any) -> str:
    with pytest.raises(errors.UsageError) as caught:
        planned(*faults, **settings)
    return str(caught.value)


# --------------------------------------------------------------------------- what is planned


@pytest.mark.parametrize(
    "case", cases.read(__file__, "planned"), ids=lambda case: str(case["faults"])
)
def test_what_is_planned(case: dict[str, Any]) -> None:
    found = planned(*case["faults"], **case.get("settings", {}))
    assert found.carrier == case["carrier"]
    for fault, has in zip(found.faults, case.get("each", ()), strict="each" in case):
        given = msgspec.to_builtins(fault)
        assert {key: given[key] for key in has} == has


def test_the_rule_is_one_that_carriers_accept_and_matches_the_right_calls() -> None:
    fault = one(
        {"kind": "lose-response", "name": "lost", "times": 3, "skip": 2, "on": STATUS},
        schedulers=({"kind": "python"}, {"kind": "kube-scheduler"}),
    )
    rule = msgspec.convert(fault.rule, injection.FaultSpec)
    assert (rule.name, rule.point, rule.count, rule.skip) == ("lost", "response", 3, 2)
    call = matching.Facts(
        verb="update",
        path="/",
        client="scheduler-2",
        resource="resourceclaims",
        subresource="status",
    )
    assert matching.matches(rule.match, call)
    for other in ({"client": "kubelet"}, {"verb": "patch"}, {"subresource": ""}):
        assert not matching.matches(rule.match, msgspec.structs.replace(call, **other))


@pytest.mark.parametrize(("fault", "point"), cases.read(__file__, "points"))
def test_every_kind_of_traffic_has_a_rule_and_a_sentence(fault: dict[str, Any], point: str) -> None:
    found = one(fault)
    assert msgspec.convert(found.rule, injection.FaultSpec).point == point
    assert found.text.endswith(".")
    assert "scheduler" in found.text


def test_seeds_of_faults_come_from_the_run_and_the_name() -> None:
    faults = [{"kind": "drop-watch", "probability": 0.5}] * 2
    first, second = planned(*faults, seed=1).faults
    again, _ = planned(*faults, seed=1).faults
    other, _ = planned(*faults, seed=2).faults
    assert first.rule["seed"] == again.rule["seed"]
    assert len({item.rule["seed"] for item in (first, second, other)}) == 3


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("fault", "settings", "words"), cases.read(__file__, "refused"))
def test_what_cannot_work(
    fault: dict[str, Any], settings: dict[str, Any], words: list[str]
) -> None:
    on = CLUSTERS[settings.get("on", "on disk")]
    text = refusal(fault, **settings | {"on": on})
    assert text.startswith((f"fault {fault['kind']}: expected ", "expected --fault-carrier "))
    assert "\n" not in text
    for word in words:
        assert word in text


@pytest.mark.parametrize(("second", "is_possible"), cases.read(__file__, "seconds"))
def test_two_faults_of_one_process_at_one_time(second: dict[str, Any], is_possible: bool) -> None:
    first = {"kind": "pause-process", "name": "pause", "seconds": 4, "start_s": 1}
    if is_possible:
        assert len(planned(first, second).faults) == 2
    else:
        text = refusal(first, second)
        assert "expected one fault of scheduler at a time, but pause acts on it then" in text


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "kill-process"},
        {"kind": "restart-process"},
        {"kind": "pause-process", "seconds": 1},
    ],
)
def test_a_claim_controller_of_the_cluster_is_hit_where_the_run_can(fault: dict[str, Any]) -> None:
    managed = interfaces.Capabilities(
        claim_controller=True, claim_controller_process="kube-controller-manager"
    )
    spec = {**fault, "role": "claim-controller"}
    found = one(spec, controller="cluster", on=managed)
    assert (found.carrier, found.clients) == ("run", ["kube-controller-manager"])
    foreign = interfaces.Capabilities(claim_controller=True)
    assert "expected a role of this run" in refusal(spec, controller="cluster", on=foreign)
    watched = {"kind": "drop-watch", "on": {"role": "claim-controller"}}
    assert "expected a role of this run" in refusal(watched, controller="cluster", on=managed)
    assert one(spec, on=managed).clients == ["claim-controller"], "ours"


# --------------------------------------------------------------------------- what is drawn


def drawn(
    seed: int, *, on: interfaces.Capabilities = ON_DISK, **keys: Any
) -> list[plans.PlannedFault]:
    of_scenario = {key: keys.pop(key) for key in ("schedulers", "controller") if key in keys}
    nemesis = {"kind": "nemesis", "name": "chaos", **keys}
    return planned(nemesis, on=on, seed=seed, **of_scenario).faults


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


def test_every_kind_is_drawn_in_some_runs_as_the_seed_decides() -> None:
    found = {fault.kind for seed in range(60) for fault in drawn(seed)}
    assert found == set(fault_planning.DRAWN)
    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    for required in (True, False):
        assert {fault.required for fault in drawn(1, required=required)} == {required}


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
    outside = {"schedulers": ({"kind": "cluster"},), "controller": "cluster"}
    found = [fault for seed in range(40) for fault in drawn(seed, on=bare, **outside)]
    assert found
    assert "restart-api-server" not in {fault.kind for fault in found}
    assert {client for fault in found for client in fault.clients} == {"kubelet"}


def test_kinds_of_which_the_run_allows_none() -> None:
    with pytest.raises(errors.UsageError, match="this run allows, got restart-api-server"):
        drawn(1, on=interfaces.Capabilities(), kinds=["restart-api-server"])

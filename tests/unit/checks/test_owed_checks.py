"""Which runs owe a check: by the settings of their plans, and by what their recorder observes."""

from typing import Any

import msgspec
import pytest

from harness.checks import check_registry, plan_facts
from harness.checks.devices import device_timelines, tainted_devices
from harness.history import plans
from tests.histories import building

CHECKS = {check.name: check for check in check_registry.CHECKS}
SLICES = {"resources": ["resourceslices"]}
AT_REST = {"progress_s": 10.0}
TRAFFIC = {"traffic": {"users": 1}}
EVICTING: dict[str, Any] = {"subject": {"claim_controller": "python"}}
COMES: dict[str, Any] = {"kind": "taint", "effect": "NoExecute"}
PARAMETERS = {"parameters": {"who": "{claim}"}}
ALONE: dict[str, Any] = {"subject": {"schedulers": [{}]}}


def pools(**changes: Any) -> dict[str, Any]:
    return {"pools": changes}


def kind(**keys: Any) -> dict[str, Any]:
    return pools(more=[{"name": "a"}, {"name": "b", **keys}])


def files(*features: str) -> dict[str, Any]:
    return pools(imported={"has": list(features)})


def fault(name: str, **changes: Any) -> dict[str, Any]:
    return {"faults": [building.fault(name, **changes)]}


ROWS: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("device_consumption", {}, {}, False),
    ("device_consumption", {}, SLICES, True),
    ("device_consumption", kind(shared=False, partitions=[], limit=None), {}, False),
    ("device_consumption", kind(shared=True), {}, True),
    ("device_consumption", kind(partitions=[1]), {}, True),
    ("device_consumption", kind(limit=1), {}, True),
    ("device_consumption", files("counters"), {}, True),
    ("claim_controller", {}, AT_REST | {"expected_steps": ["claim-controller"]}, True),
    ("claim_controller", {}, {"expected_steps": ["claim-controller"]}, False),
    ("claim_controller", {}, AT_REST | {"expected_steps": ["scheduler"]}, False),
    ("claim_controller", TRAFFIC, {"expected_steps": ["scheduler"]}, True),
    ("tainted_devices", {}, {}, False),
    ("tainted_devices", {}, SLICES, True),
    ("tainted_devices", {}, SLICES | fault("delay-events"), False),
    ("evicted_pods", EVICTING, SLICES, False),
    ("evicted_pods", EVICTING | pools(changes=[COMES]), SLICES, True),
    ("evicted_pods", EVICTING | pools(changes=[COMES]), SLICES | fault("delay-events"), False),
    ("evicted_pods", EVICTING | pools(changes=[COMES]), {}, False),
    ("evicted_pods", EVICTING | pools(changes=[{**COMES, "effect": "NoSchedule"}]), SLICES, False),
    ("evicted_pods", EVICTING | pools(changes=[{"kind": "flap"}]), SLICES, False),
    ("evicted_pods", EVICTING | kind(taints=[COMES]), SLICES, True),
    ("evicted_pods", EVICTING | files("shares", "taints"), SLICES, True),
    ("evicted_pods", EVICTING | files("shares"), SLICES, False),
    ("evicted_pods", {"subject": {"claim_controller": "cluster"}} | kind(taints=[COMES]), SLICES, True),
    ("evicted_pods", {"subject": {"claim_controller": "external"}} | kind(taints=[COMES]), SLICES, False),
    ("claim_progress", {}, {"progress_s": 0.0}, True),
    ("claim_progress", {}, {"progress_s": None}, False),
    ("leftover_preparations", {}, AT_REST, True),
    ("leftover_preparations", {}, {"progress_s": None}, False),
    ("leftover_preparations", {}, AT_REST | fault("lose-node"), False),
    ("leftover_preparations", {}, AT_REST | fault("lose-response"), True),
    ("leftover_preparations", {"traffic": {"force_delete": True}}, AT_REST, False),
    ("leftover_preparations", {"driver": {"termination_s": 1.0}}, AT_REST, False),
    ("leftover_preparations", {"driver": {"unprepare": {"delay_s": 0.1}}}, AT_REST, False),
    ("leftover_preparations", {"driver": {"prepare": {"delay_s": 0.1}}}, AT_REST, True),
    ("container_parameters", {}, {}, False),
    ("container_parameters", {"claim": {"parameters": {}}, "pools": {}}, {}, False),
    ("container_parameters", {"claim": PARAMETERS}, {}, True),
    ("container_parameters", pools(device_class=PARAMETERS), {}, True),
    ("prepared_devices", {}, {}, False),
    ("prepared_devices", {"driver": {"exclusivity": False}}, {}, False),
    ("prepared_devices", {"driver": {"exclusivity": True}}, {}, True),
    ("device_readiness", kind(), {}, False),
    ("device_readiness", kind(binding_conditions=["attached"]), {}, True),
    ("device_readiness", files("binding-conditions"), {}, True),
    ("claims_in_use", {}, {}, False),
    ("claims_in_use", TRAFFIC, {}, True),
    ("existing_devices", {}, {}, False),
    ("existing_devices", {}, SLICES, True),
]  # fmt: skip


def planned(settings: dict[str, Any], changes: dict[str, Any]) -> plans.Plan:
    return msgspec.structs.replace(building.plan(settings=settings), **changes)


@pytest.mark.parametrize(("check", "settings", "changes", "owed"), ROWS)
def test_a_run_owes_a_check(
    check: str, settings: dict[str, Any], changes: dict[str, Any], owed: bool
) -> None:
    assert CHECKS[check].applies(planned(settings, changes)) is owed


CONFUSING = [
    ("lose-response", ["scheduler"]),
    ("kill-process", ["scheduler-2"]),
    ("restart-api-server", ["api-server"]),
    ("reallocate-claims", ["run"]),
    ("lose-response", []),
    ("lose-response", ["claim-controller", "scheduler"]),
]
HARMLESS = [
    ("lose-response", ["claim-controller"]),
    ("pause-process", ["kubelet"]),
    ("delay-events", ["scheduler"]),
]


@pytest.mark.parametrize(("name", "clients"), [*CONFUSING, *HARMLESS])
def test_only_what_a_nemesis_has_drawn_confuses_schedulers(name: str, clients: list[str]) -> None:
    drawn = planned({}, fault(name, clients=clients, drawn_by="chaos"))
    assert plan_facts.confuses_schedulers(drawn) is ((name, clients) in CONFUSING)
    assert not plan_facts.confuses_schedulers(planned({}, fault(name, clients=clients)))


@pytest.mark.parametrize(
    ("settings", "changes", "asked"),
    [
        (ALONE | pools(changes=[COMES]), {}, True),
        (ALONE | pools(changes=[COMES]), fault("delay-events"), False),
        (ALONE | pools(changes=[COMES]), {"expected_steps": ["claim-controller"]}, False),
        (ALONE | pools(changes=[]), {}, False),
        ({"subject": {"schedulers": [{}, {}]}} | pools(changes=[COMES]), {}, False),
    ],
)
def test_steps_show_what_an_only_scheduler_knew_of_pools_that_change(
    settings: dict[str, Any], changes: dict[str, Any], asked: bool
) -> None:
    plan = planned(settings, {"expected_steps": ["scheduler"]} | changes)
    assert device_timelines.are_asked(plan) is asked
    assert tainted_devices.needs_views(plan) is asked
    assert tainted_devices._are_taints_seen(plan) is asked

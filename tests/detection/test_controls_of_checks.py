"""Each check has what proves it: a known defect that it catches, golden runs, random histories."""

import ast
import pathlib

import pytest

from harness.checks import check_registry
from harness.scenario import loading

ROOT = pathlib.Path(__file__).parents[2]
NAMES = [check.name for check in check_registry.CHECKS]
CAUGHT = {
    "allocation_finalizers": ("pod-churn", "finalizer-not-added"),
    "bound_pods": ("shared-claims", "node-selector-not-asked"),
    "claim_constraints": ("driver-network", "constraints-not-asked"),
    "claim_controller": ("finished-pods", "controller-finished-pods-synced"),
    "claims_in_use": ("shared-claims", "controller-reservations-dropped"),
    "container_parameters": ("driver-parameters", "driver-stale-parameters"),
    "device_consumption": ("partitions", "shares-not-gathered"),
    "device_exclusivity": ("pod-churn", "in-flight-removed-first"),
    "device_statuses": ("device-statuses", "device-status-overwritten"),
    "device_readiness": ("binding-conditions", "conditions-not-awaited"),
    "distinct_devices": ("admin-access", "admin-device-twice"),
    "existing_devices": ("pools-change", "slice-deletions-unseen"),
    "evicted_pods": ("evictions", "taint-not-evicted"),
    "extended_claims": ("extended-resources", "extended-claim-not-recorded"),
    "generated_claims": ("controller-retries", "controller-creations-forgotten"),
    "granted_access": ("admin-access", "admin-access-for-all"),
    "granted_shares": ("capacities", "whole-devices-shared"),
    "leftover_preparations": ("kubelet-restarts", "kubelet-forgets-claims"),
    "prepared_containers": ("node-reboots", "cached-claim-not-prepared"),
    "prepared_devices": ("driver-slow", "driver-released-first"),
    "reachable_devices": ("driver-network", "node-selector-not-written"),
    "requested_results": ("driver-network", "one-device-enough"),
    "resource_leaks": ("controller-down", "controller-claims-not-enqueued"),
    "selected_devices": ("partitions", "selectors-not-asked"),
    "tainted_devices": ("taints-come-and-go", "slice-tracker-unlocked-merge"),
}
"""Check -> a scenario of the campaign, and one of its controls, which makes the check INVALID."""
OTHERWISE = {
    # No known defect of the subject breaks these alone; the text says why, the test what does.
    "allocation_stability": (
        "API servers refuse to change an allocation in place (`+k8s:update=NoModify`)",
        "unit/checks/claims/test_allocation_stability.py::test_what_is_replaced_in_one_write_is_found",
    ),
    "claim_reservations": (
        "API servers refuse reservations without an allocation, and the 257th one",
        "detection/test_claim_defects.py::test_a_reservation_for_another_pod_is_caught",
    ),
    "copied_results": (
        "tolerations were lost (kubernetes#134434), but no release of kube-scheduler lost the rest",
        "detection/test_spoiled_fields.py::test_a_spoiled_field_is_caught_in_each_history",
    ),
    "claim_progress": (
        "a scheduler that stops working is no defect that was ever shipped",
        "e2e/runs/test_progress.py::test_a_scheduler_that_gives_up_is_stuck",
    ),
    "scheduler_exclusivity": (
        "controls run with one scheduler, and the check needs several",
        "e2e/runs/test_several_schedulers.py::test_a_race_within_each_scheduler_is_told_apart",
    ),
}
RANDOM = {
    "claims/test_brute_force.py": (
        "allocation_finalizers",
        "allocation_stability",
        "claim_reservations",
        "claims_in_use",
        "generated_claims",
    ),
    "claims/test_device_statuses.py": ("device_statuses",),
    "claim_control/test_against_brute_force.py": ("claim_controller",),
    "consumption/test_device_consumption.py": ("device_consumption",),
    "devices/test_against_brute_force.py": (
        "claim_constraints",
        "copied_results",
        "distinct_devices",
        "existing_devices",
        "granted_access",
        "granted_shares",
        "reachable_devices",
        "selected_devices",
    ),
    "devices/test_certain_against_brute_force.py": ("requested_results",),
    "nodes/test_against_brute_force.py": (
        "container_parameters",
        "device_readiness",
        "extended_claims",
        "prepared_containers",
        "prepared_devices",
    ),
    "pods/test_against_brute_force.py": ("bound_pods",),
    "progress/test_leftover_preparations.py": ("leftover_preparations",),
    "progress/test_brute_force.py": ("claim_progress", "resource_leaks"),
    "schedulers/test_against_brute_force.py": ("device_exclusivity", "scheduler_exclusivity"),
    "taints/test_against_brute_force.py": ("tainted_devices",),
    "taints/test_evicted_pods.py": ("evicted_pods",),
}
"""Module in tests/unit/checks -> the checks that it compares with brute force."""


def test_each_check_has_a_control() -> None:
    assert sorted([*CAUGHT, *OTHERWISE]) == sorted(NAMES)


@pytest.mark.parametrize("check", CAUGHT)
def test_its_scenario_names_the_defect(check: str) -> None:
    scenario, defect = CAUGHT[check]
    assert defect in loading.load(scenario).scenario.controls


@pytest.mark.parametrize("check", OTHERWISE)
def test_what_catches_the_others_is_there(check: str) -> None:
    reason, test = OTHERWISE[check]
    path, _, name = test.partition("::")
    body = ast.parse((ROOT / "tests" / path).read_text()).body
    assert reason
    assert name in {item.name for item in body if isinstance(item, ast.FunctionDef)}


@pytest.mark.parametrize("check", NAMES)
def test_it_has_a_golden_run_that_is_invalid(check: str) -> None:
    assert list((ROOT / "tests/golden" / check).glob("INVALID*"))


def test_each_check_has_random_histories() -> None:
    assert sorted(name for names in RANDOM.values() for name in names) == sorted(NAMES)

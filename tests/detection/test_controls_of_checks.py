"""Each check has what proves it: a known defect that it catches, and a golden run."""

import pathlib

import pytest

from harness.checks import check_registry
from harness.scenario import loading
from tests.support import golden_runs

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
    "allocation_stability": "API servers refuse to change an allocation (`+k8s:update=NoModify`)",
    "claim_progress": "a scheduler that stops working is no defect that was ever shipped",
    "claim_reservations": "API servers refuse reservations without an allocation, and the 257th one",
    "copied_results": "tolerations were lost (kubernetes#134434), but no release lost the rest",
    "scheduler_exclusivity": "controls run with one scheduler, and the check needs several",
}
"""Check -> why no known defect of the subject breaks it alone."""


def test_each_check_has_a_control() -> None:
    assert sorted([*CAUGHT, *OTHERWISE]) == sorted(NAMES)


@pytest.mark.parametrize("check", CAUGHT)
def test_its_scenario_names_the_defect(check: str) -> None:
    scenario, defect = CAUGHT[check]
    assert defect in loading.load(scenario).scenario.controls


@pytest.mark.parametrize("check", NAMES)
def test_it_has_a_golden_run_that_is_invalid(check: str) -> None:
    assert list((golden_runs.FOLDER / check).glob("INVALID*"))

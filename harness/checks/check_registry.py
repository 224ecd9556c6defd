"""The registry of the checks; each is a module that says what it guarantees, and in which runs."""

import importlib

from harness.checks import protocol

_MODULES = (
    "device_exclusivity",
    "consumption.device_consumption",
    "schedulers.scheduler_exclusivity",
    "progress.leftover_preparations",
    "claim_control.controller_records",
    "claims.generated_claims",
    "claims.allocation_stability",
    "claims.allocation_finalizers",
    "claims.reservations",
    "claims.claims_in_use",
    "claims.device_statuses",
    "devices.distinct_devices",
    "devices.existing_devices",
    "devices.selected_devices",
    "devices.claim_constraints",
    "devices.requested_results",
    "devices.granted_access",
    "devices.granted_shares",
    "devices.copied_results",
    "devices.reachable_devices",
    "pods.bound_pods",
    "taints.tainted_devices",
    "taints.evicted_pods",
    "progress.claim_progress",
    "progress.resource_leaks",
    "nodes.prepared_devices",
    "nodes.prepared_containers",
    "nodes.device_readiness",
    "nodes.container_parameters",
    "nodes.extended_claims",
)
"""A line for each check, in the order in which verdict.json, the report, JUnit and the terminal
show their results: the module in this package that has its `CHECK`."""

CHECKS: tuple[protocol.Check, ...] = tuple(
    importlib.import_module(f"harness.checks.{name}").CHECK for name in _MODULES
)
"""All checks."""

"""The registry of the checks; each says what it guarantees, and in which runs."""

import importlib

from harness.checks import protocol

_NAMES = (
    "device_exclusivity.CHECK",
    "devices.device_consumption.CHECK",
    "scheduler_attribution.SCHEDULER_EXCLUSIVITY",
    "progress.resource_leaks.LEFTOVER_PREPARATIONS",
    "claims.controller_records.CHECK",
    "claims.generated_claims.CHECK",
    "claims.claim_allocations.ALLOCATION_STABILITY",
    "claims.claim_allocations.ALLOCATION_FINALIZERS",
    "claims.reservations.CLAIM_RESERVATIONS",
    "claims.reservations.CLAIMS_IN_USE",
    "nodes.device_statuses.DEVICE_STATUSES",
    "devices.granted_devices.DISTINCT_DEVICES",
    "devices.reachable_devices.EXISTING_DEVICES",
    "devices.requested_devices.SELECTED_DEVICES",
    "devices.requested_devices.CLAIM_CONSTRAINTS",
    "devices.requested_devices.REQUESTED_RESULTS",
    "devices.granted_devices.GRANTED_ACCESS",
    "devices.granted_devices.GRANTED_SHARES",
    "devices.granted_devices.COPIED_RESULTS",
    "devices.reachable_devices.REACHABLE_DEVICES",
    "claims.bound_pods.CHECK",
    "devices.tainted_devices.TAINTED_DEVICES",
    "devices.tainted_devices.EVICTED_PODS",
    "progress.claim_progress.CHECK",
    "progress.resource_leaks.RESOURCE_LEAKS",
    "nodes.preparations.PREPARED_DEVICES",
    "nodes.started_containers.PREPARED_CONTAINERS",
    "nodes.device_statuses.DEVICE_READINESS",
    "nodes.started_containers.CONTAINER_PARAMETERS",
    "nodes.extended_claims.CHECK",
)
"""A line for each check, in the order in which verdict.json, the report, JUnit and the terminal
show their results: the module in this package that has it, and its name there."""


def _named(place: str) -> protocol.Check:
    module, _, name = place.rpartition(".")
    check: protocol.Check = getattr(importlib.import_module(f"harness.checks.{module}"), name)
    return check


CHECKS: tuple[protocol.Check, ...] = tuple(map(_named, _NAMES))
"""All checks."""

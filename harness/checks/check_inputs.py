"""The input of a check: the plan of the run and the history folded from its records."""

import dataclasses
from collections.abc import Mapping, Sequence

from harness.checks import fault_records, hold_history, preparations
from harness.checks.claim_control import controller_history, reservations
from harness.checks.consumption import declared_devices
from harness.checks.nodes import (
    container_parameters,
    device_readiness,
    extended_claims,
)
from harness.checks.progress import world_states, written_books
from harness.checks.schedulers import scheduler_identities
from harness.checks.taints import attempt_views, taint_timelines
from harness.history import plans, records


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """The evidence of one run, ready to be judged."""

    plan: plans.Plan
    folded: hold_history.HoldHistory
    final: world_states.WorldState
    """The objects that existed at the end; empty if the plan has no `progress_s`."""
    reserved: reservations.Reservations = dataclasses.field(
        default_factory=reservations.Reservations
    )
    """Reservations in all versions of the claims; none if the plan does not ask for them."""
    controller: controller_history.ControllerHistory = dataclasses.field(
        default_factory=controller_history.ControllerHistory
    )
    """The writes of the claim controller; none if the plan does not ask for them."""
    faults: fault_records.FaultRecords = dataclasses.field(
        default_factory=fault_records.FaultRecords
    )
    prepared: Sequence[preparations.Preparation] = ()
    """When claims were prepared on nodes, as the journals say."""
    started: Sequence[records.ContainerStarted] = ()
    """Containers that use claims, as the journals say."""
    parameters: container_parameters.Expectations = dataclasses.field(
        default_factory=container_parameters.Expectations
    )
    """Their expected environments; none if the plan has no parameters."""
    extended: extended_claims.ExtendedClaims = dataclasses.field(
        default_factory=extended_claims.ExtendedClaims
    )
    """Pods and claims of extended resources; none if the plan's pods ask for none."""
    readiness: device_readiness.DeviceReadiness = dataclasses.field(
        default_factory=device_readiness.DeviceReadiness
    )
    """When devices became ready; unknown if the plan has no devices with binding conditions."""
    schedulers: scheduler_identities.SchedulersOfHolds = dataclasses.field(
        default_factory=scheduler_identities.SchedulersOfHolds
    )
    """The schedulers of the allocations; known only in runs with several schedulers."""
    declared: declared_devices.DeclaredDevices = dataclasses.field(
        default_factory=declared_devices.DeclaredDevices
    )
    """Devices and counters in all versions of the slices."""
    taints: taint_timelines.TaintTimelines = dataclasses.field(
        default_factory=taint_timelines.TaintTimelines
    )
    """Taints in all versions of slices and rules; none if the plan taints no device."""
    views: Mapping[str, attempt_views.View] = dataclasses.field(default_factory=dict)
    """The versions that the scheduler knew when it chose devices, by the uid of the claim."""
    phases: Sequence[records.Phase] = ()
    """The phases of the run, in order."""
    books: Mapping[str, written_books.Books | None] = dataclasses.field(default_factory=dict)
    """The final books of each Python scheduler; None: it left none."""

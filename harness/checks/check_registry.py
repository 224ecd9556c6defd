"""The registry of the checks: what each guarantees, and in which runs.

A new check is a module with NAME, PROMISE, `check` and `applies`, and an entry in CHECKS.
"""

import dataclasses
from collections.abc import Callable

from harness.checks import check_inputs, device_exclusivity, verdicts
from harness.checks.claim_control import controller_records
from harness.checks.claims import (
    allocation_finalizers,
    allocation_stability,
    claims_in_use,
    findings,
    generated_claims,
    reservations,
)
from harness.checks.consumption import device_consumption
from harness.checks.devices import (
    claim_constraints,
    copied_results,
    distinct_devices,
    existing_devices,
    granted_access,
    granted_shares,
    reachable_devices,
    requested_results,
    selected_devices,
)
from harness.checks.nodes import (
    container_parameters,
    device_readiness,
    extended_claims,
    prepared_devices,
)
from harness.checks.pods import bound_pods
from harness.checks.progress import (
    claim_progress,
    leftover_preparations,
    resource_leaks,
    scheduler_books,
)
from harness.checks.schedulers import scheduler_exclusivity, scheduler_identities
from harness.checks.taints import tainted_devices
from harness.history import plans


def _always(plan: plans.Plan) -> bool:
    del plan
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """A guarantee and the pure function that checks it."""

    name: str
    promise: str
    """The guarantee as a clause."""
    run: Callable[[check_inputs.CheckInput], verdicts.Answer]
    by_holds: bool = False
    """Violations need nothing but holds, so that they stand if the certain part of the holds shows
    them; those of other checks do not stand if the observations are in doubt."""
    at_rest: bool = False
    """Violations are of what is so at the end, when everything is at rest."""
    applies: Callable[[plans.Plan], bool] = _always
    """Return True if a run with this plan owes the guarantee; others have no result of it."""


CHECKS: tuple[Check, ...] = (
    Check(
        device_exclusivity.NAME,
        device_exclusivity.PROMISE,
        lambda given: device_exclusivity.check(
            given.observed.folded, given.observed.declared.is_shareable
        ),
        by_holds=True,
    ),
    Check(
        device_consumption.NAME,
        device_consumption.PROMISE,
        lambda given: device_consumption.check(given.observed.folded, given.observed.declared),
        applies=device_consumption.applies,
    ),
    Check(
        scheduler_exclusivity.NAME,
        scheduler_exclusivity.PROMISE,
        lambda given: scheduler_exclusivity.check(given.observed.folded, given.schedulers),
        by_holds=True,
        applies=scheduler_identities.are_several,
    ),
    Check(
        leftover_preparations.NAME,
        leftover_preparations.PROMISE,
        lambda given: leftover_preparations.check(
            given.prepared, given.observed.final, given.phases
        ),
        at_rest=True,
        applies=leftover_preparations.applies,
    ),
    Check(
        controller_records.NAME,
        controller_records.PROMISE,
        lambda given: controller_records.check(
            given.observed.controller, undisturbed=controller_records.is_undisturbed(given.plan)
        ),
        applies=controller_records.applies,
    ),
    Check(
        generated_claims.NAME,
        generated_claims.PROMISE,
        lambda given: generated_claims.check(
            given.observed.lives,
            given.observed.pods,
            given.plan,
            given.faults,
            given.observed.copies,
        ),
        applies=generated_claims.applies,
    ),
    Check(
        allocation_stability.NAME,
        allocation_stability.PROMISE,
        lambda given: allocation_stability.check(given.observed.lives),
        applies=allocation_stability.applies,
    ),
    Check(
        allocation_finalizers.NAME,
        allocation_finalizers.PROMISE,
        lambda given: allocation_finalizers.check(
            given.observed.lives, blames_server=findings.blames_server(given.plan)
        ),
        applies=allocation_finalizers.applies,
    ),
    Check(
        reservations.NAME,
        reservations.PROMISE,
        lambda given: reservations.check(given.observed.lives, given.observed.pods),
        applies=reservations.applies,
    ),
    Check(
        claims_in_use.NAME,
        claims_in_use.PROMISE,
        lambda given: claims_in_use.check(
            given.observed.lives,
            given.observed.pods,
            given.faults,
            blames_server=findings.blames_server(given.plan),
        ),
        applies=claims_in_use.applies,
    ),
    Check(
        distinct_devices.NAME,
        distinct_devices.PROMISE,
        lambda given: distinct_devices.check(given.observed.allocated),
        applies=distinct_devices.applies,
    ),
    Check(
        existing_devices.NAME,
        existing_devices.PROMISE,
        lambda given: existing_devices.check(
            given.observed.allocated, given.observed.pools, given.views, given.plan
        ),
        applies=existing_devices.applies,
    ),
    Check(
        selected_devices.NAME,
        selected_devices.PROMISE,
        lambda given: selected_devices.check(given.observed.allocated),
        applies=selected_devices.applies,
    ),
    Check(
        claim_constraints.NAME,
        claim_constraints.PROMISE,
        lambda given: claim_constraints.check(given.observed.allocated),
        applies=claim_constraints.applies,
    ),
    Check(
        requested_results.NAME,
        requested_results.PROMISE,
        lambda given: requested_results.check(
            given.observed.allocated, given.observed.pools, given.views, given.plan
        ),
        applies=requested_results.applies,
    ),
    Check(
        granted_access.NAME,
        granted_access.PROMISE,
        lambda given: granted_access.check(given.observed.allocated),
        applies=granted_access.applies,
    ),
    Check(
        granted_shares.NAME,
        granted_shares.PROMISE,
        lambda given: granted_shares.check(given.observed.allocated),
        applies=granted_shares.applies,
    ),
    Check(
        copied_results.NAME,
        copied_results.PROMISE,
        lambda given: copied_results.check(given.observed.allocated),
        applies=copied_results.applies,
    ),
    Check(
        reachable_devices.NAME,
        reachable_devices.PROMISE,
        lambda given: reachable_devices.check(given.observed.allocated),
        applies=reachable_devices.applies,
    ),
    Check(
        bound_pods.NAME,
        bound_pods.PROMISE,
        lambda given: bound_pods.check(
            given.observed.bound, given.observed.allocated.catalogue, given.plan
        ),
        applies=bound_pods.applies,
    ),
    Check(
        tainted_devices.NAME,
        tainted_devices.PROMISE,
        lambda given: tainted_devices.check(
            given.observed.folded,
            given.observed.taints,
            given.views if tainted_devices.needs_views(given.plan) else None,
        ),
        applies=tainted_devices.applies,
    ),
    Check(
        claim_progress.NAME,
        claim_progress.PROMISE,
        claim_progress.check,
        at_rest=True,
        applies=claim_progress.applies,
    ),
    Check(
        resource_leaks.NAME,
        resource_leaks.PROMISE,
        resource_leaks.check,
        at_rest=True,
        applies=resource_leaks.applies,
    ),
    Check(
        prepared_devices.NAME,
        prepared_devices.PROMISE,
        lambda given: prepared_devices.check(given.prepared, given.observed.folded.holds),
        applies=prepared_devices.applies,
    ),
    Check(
        device_readiness.NAME,
        device_readiness.PROMISE,
        lambda given: device_readiness.check(given.observed.readiness),
        applies=device_readiness.applies,
    ),
    Check(
        container_parameters.NAME,
        container_parameters.PROMISE,
        lambda given: container_parameters.check(
            given.plan, given.started, given.observed.parameters
        ),
        applies=container_parameters.applies,
    ),
    Check(
        extended_claims.NAME,
        extended_claims.PROMISE,
        lambda given: extended_claims.check(given.plan.settings, given.observed.extended),
        applies=extended_claims.applies,
    ),
    Check(
        scheduler_books.NAME,
        scheduler_books.PROMISE,
        scheduler_books.check,
        at_rest=True,
        applies=scheduler_books.applies,
    ),
)
"""All checks; verdict.json, the report, JUnit and the terminal show their results in this order."""

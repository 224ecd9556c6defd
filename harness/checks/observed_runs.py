"""Folds the observations of a run once, into everything that the checks ask of them."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator

import msgspec

from harness.checks import hold_history
from harness.checks.claim_control import controller_history, controller_records, reservations
from harness.checks.consumption import declared_devices
from harness.checks.nodes import (
    container_parameters,
    device_readiness,
    extended_claims,
)
from harness.checks.progress import world_states
from harness.checks.schedulers import allocation_writers, scheduler_identities
from harness.checks.taints import taint_timelines, tainted_devices
from harness.history import histories, plans, records
from harness.model import quantities

_NO_OBJECTS = (
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
    quantities.QuantityError,
)
"""Errors of reading what is no object of the API."""
_Follow = Callable[[Iterable[records.Body]], Iterator[records.Body]]
"""Yields the records of the recorder, each after noting it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRun:
    """The observations of a run, folded; without the parts that its plan does not ask for."""

    recorder: histories.EvidenceReader | None
    """The reader of the observations; None: there are none."""
    folded: hold_history.HoldHistory
    declared: declared_devices.DeclaredDevices = dataclasses.field(
        default_factory=declared_devices.DeclaredDevices
    )
    """Devices and counters in all versions of the slices."""
    final: world_states.WorldState = dataclasses.field(default_factory=world_states.WorldState)
    """The objects that existed at the end."""
    reserved: reservations.Reservations = dataclasses.field(
        default_factory=reservations.Reservations
    )
    controller: controller_history.ControllerHistory = dataclasses.field(
        default_factory=controller_history.ControllerHistory
    )
    parameters: container_parameters.Expectations = dataclasses.field(
        default_factory=container_parameters.Expectations
    )
    extended: extended_claims.ExtendedClaims = dataclasses.field(
        default_factory=extended_claims.ExtendedClaims
    )
    readiness: device_readiness.DeviceReadiness = dataclasses.field(
        default_factory=device_readiness.DeviceReadiness
    )
    writers: allocation_writers.AllocationWriters = dataclasses.field(
        default_factory=allocation_writers.AllocationWriters
    )
    taints: taint_timelines.TaintTimelines = dataclasses.field(
        default_factory=taint_timelines.TaintTimelines
    )


def observe(history: histories.History) -> ObservedRun:
    """Fold the observations; an empty history if they are missing or damaged.

    Part of damaged observations would mislead: a lost release looks like a double allocation.
    """
    recorder = history.observations()
    empty = ObservedRun(recorder=recorder, folded=hold_history.fold(()))
    if recorder is None:
        return empty
    try:
        observed = _fold(recorder, history.plan)
    except _NO_OBJECTS as error:
        # The record is sound, but the `object` in it is not an object of the API.
        recorder.damage = (
            f"{recorder.path.name}, line {recorder.line}: expected an object as the API server "
            f"sends it ({error}). The journal is damaged; restore the file or run again"
        )
    return empty if recorder.damage else observed


def _fold(recorder: histories.EvidenceReader, plan: plans.Plan) -> ObservedRun:
    observed = ObservedRun(recorder=recorder, folded=hold_history.HoldHistory())
    followed: Iterable[records.Body] = observed.declared.follow(recorder)
    for follow in _followers(plan, observed):
        followed = follow(followed)
    folded = hold_history.fold(followed)
    for resource in world_states.TYPES:
        observed.final.keep(resource, folded.stream(resource).live)
    return dataclasses.replace(observed, folded=folded)


def _followers(plan: plans.Plan, observed: ObservedRun) -> Iterator[_Follow]:
    """Yield what folds the observations beside the holds, as the plan asks."""
    if plan.progress_s is not None:
        yield observed.final.follow
    if controller_records.applies(plan):
        yield observed.controller.follow
    if reservations.applies(plan):
        yield observed.reserved.follow
    if container_parameters.applies(plan):
        yield observed.parameters.follow
    if extended_claims.applies(plan):
        yield observed.extended.follow
    if device_readiness.applies(plan):
        yield observed.readiness.follow
    if scheduler_identities.are_several(plan):
        yield observed.writers.follow
    if tainted_devices.applies(plan):
        yield observed.taints.follow

"""Folds the observations of a run in one pass, into everything that the checks ask of them."""

import dataclasses
from collections.abc import Iterable, Iterator

from harness.checks import world_states
from harness.checks.claim_control import controller_history, controller_records
from harness.checks.claims import claim_lives, pod_lives, reservations, template_copies
from harness.checks.consumption import declared_devices
from harness.checks.devices import allocation_judging, pool_timelines
from harness.checks.evidence import contention, wholeness
from harness.checks.holds import hold_history
from harness.checks.nodes import container_parameters, device_readiness, extended_claims
from harness.checks.observed import folders, observations
from harness.checks.pods import bound_pods, pod_bindings
from harness.checks.schedulers import allocation_writers, scheduler_identities
from harness.checks.taints import taint_timelines, tainted_devices
from harness.checks.witness import watched_writes
from harness.history import histories, plans, records
from harness.model import quantities


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRun:
    """The observations of a run, folded; what its plan does not ask for has seen nothing."""

    recorder: histories.EvidenceReader | None = None
    """The reader of the observations; None: there are none."""
    folded: hold_history.HoldHistory = dataclasses.field(default_factory=hold_history.HoldHistory)
    whole: wholeness.Wholeness = dataclasses.field(default_factory=wholeness.Wholeness)
    """Contradictions in the observations."""
    waiting: contention.Contention = dataclasses.field(default_factory=contention.Contention)
    """The claims and pods that waited at once; of a plan that demands competition."""
    declared: declared_devices.DeclaredDevices = dataclasses.field(
        default_factory=declared_devices.DeclaredDevices
    )
    """Devices and counters in all versions of the slices."""
    final: world_states.WorldState = dataclasses.field(default_factory=world_states.WorldState)
    """The objects that existed at the end; asked for by a plan with `progress_s`."""
    lives: claim_lives.ClaimLives = dataclasses.field(default_factory=claim_lives.ClaimLives)
    """The changes of all claims; of a plan that says what makes them."""
    pods: pod_lives.PodLives = dataclasses.field(default_factory=pod_lives.PodLives)
    """The lives of the pods; of the same plans."""
    copies: template_copies.TemplateCopies = dataclasses.field(
        default_factory=template_copies.TemplateCopies
    )
    """Templates, and the claims made from them; of the same plans."""
    controller: controller_history.ControllerHistory = dataclasses.field(
        default_factory=controller_history.ControllerHistory
    )
    """The writes of the claim controller."""
    parameters: container_parameters.Expectations = dataclasses.field(
        default_factory=container_parameters.Expectations
    )
    """The expected environments of containers; of a plan with parameters."""
    extended: extended_claims.ExtendedClaims = dataclasses.field(
        default_factory=extended_claims.ExtendedClaims
    )
    """Pods and claims of extended resources; of a plan whose pods ask for some."""
    readiness: device_readiness.DeviceReadiness = dataclasses.field(
        default_factory=device_readiness.DeviceReadiness
    )
    """When devices became ready; of a plan that has devices with binding conditions."""
    writers: allocation_writers.AllocationWriters = dataclasses.field(
        default_factory=allocation_writers.AllocationWriters
    )
    """The writers of the allocations; of a plan with several schedulers."""
    taints: taint_timelines.TaintTimelines = dataclasses.field(
        default_factory=taint_timelines.TaintTimelines
    )
    """Taints in all versions of slices and rules; of a plan that observes them."""
    allocated: allocation_judging.Questions = dataclasses.field(
        default_factory=allocation_judging.Questions
    )
    """The allocations, and the devices, classes and nodes; of a plan that observes slices."""
    pools: pool_timelines.PoolTimelines = dataclasses.field(
        default_factory=pool_timelines.PoolTimelines
    )
    """When devices could be allocated; of a plan that observes slices."""
    bound: pod_bindings.PodBindings = dataclasses.field(default_factory=pod_bindings.PodBindings)
    """The pods that were bound, and the reservations behind them; of a plan that observes nodes."""

    def asked(self, plan: plans.Plan) -> Iterator[folders.Folder]:
        """Yield the folders that a plan asks for, in the order in which they see a record."""
        yield self.whole
        yield self.declared
        if contention.applies(plan):
            yield self.waiting
        if plan.progress_s is not None:
            yield self.final
        if controller_records.applies(plan):
            yield self.controller
        if reservations.applies(plan):
            yield self.lives
            yield self.pods
            yield self.copies
        if container_parameters.applies(plan):
            yield self.parameters
        if extended_claims.applies(plan):
            yield self.extended
        if device_readiness.applies(plan):
            yield self.readiness
        if scheduler_identities.are_several(plan):
            yield self.writers
        if tainted_devices.applies(plan):
            yield self.taints
        yield from self._asked_of_allocations(plan)
        yield self.folded

    def _asked_of_allocations(self, plan: plans.Plan) -> Iterator[folders.Folder]:
        """Yield what a plan asks for because it observes slices and nodes."""
        if observations.SLICES in plan.resources:
            yield self.allocated.made
            yield self.allocated.catalogue
            yield self.allocated.demand
            yield self.pools
        if bound_pods.applies(plan):
            yield self.bound


def observe(
    history: histories.History, watched: watched_writes.WatchedWrites | None = None
) -> ObservedRun:
    """Fold the observations; an empty history if they are missing or damaged.

    `watched` follows them too; None: there is no audit log to compare them with.

    Part of damaged observations would mislead: a lost release looks like a double allocation.
    """
    recorder = history.observations(observations.decode_line)
    empty = ObservedRun(recorder=recorder)
    if recorder is None:
        return empty
    try:
        observed = fold(recorder, history.plan, *filter(None, [watched]))
    except (observations.ObjectError, quantities.QuantityError) as error:
        # The record is sound, but the `object` in it is not an object of the API.
        recorder.damage = (
            f"{recorder.path.name}, line {recorder.line}: expected an object as the API server "
            f"sends it ({error}). The journal is damaged; restore the file or run again"
        )
    return empty if recorder.damage else dataclasses.replace(observed, recorder=recorder)


def fold(body: Iterable[records.Body], plan: plans.Plan, *beside: folders.Folder) -> ObservedRun:
    """Return the records of the recorder, folded into what a plan asks for and into those beside.

    Raises ObjectError or QuantityError if an object is not one of the API.
    """
    observed = ObservedRun(whole=wholeness.Wholeness(is_dense=plan.dense_revisions))
    folders.fold(body, *observed.asked(plan), *beside)
    observed.whole.conclude()
    for resource in world_states.TYPES:
        observed.final.keep(resource, observed.folded.stream(resource).live)
    return observed

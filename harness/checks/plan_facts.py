"""Facts of the plan of a run, for checks: its faults, and its settings.

The settings are the scenario as JSON; scenarios of later versions may have others.

A script commands the order of events, and asks about one of them. In other runs faults come by
chance, and a check passes over what a known hazard does with them. A script is played to see
whether a program has the hazard, so that nothing is passed over. Only what the script itself has
written is not the subject's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from harness.history import plans
from harness.model import naming
from harness.model.fault_effects import Effect

if TYPE_CHECKING:
    from harness.scenario.fault_kinds import fault

Settings: TypeAlias = Mapping[str, Any]
SCHEDULER = "scheduler"
"""Name of the first scheduler, and prefix of the names of others."""
FINALIZERS = "allocation_finalizers"
"""Name of the check of finalizers, by which a script asks about the API server."""
_UNSURE = frozenset(
    {Effect.LOST_ANSWER, Effect.LATE_WRITE, Effect.OLD_STATE, Effect.RESTART, Effect.PAUSE}
)
"""Effects after which a scheduler that they hit does not know whether a pod is bound."""
_MOVING = frozenset({Effect.API_SERVER, Effect.MOVED_CLAIM, Effect.TAKE_OVER})
"""Effects on all schedulers, or that take claims from pods."""


def part(plan: plans.Plan, name: str) -> Settings:
    return plan.settings.get(name) or {}


def owes_claims(plan: plans.Plan) -> bool:
    """Return whether the plan says what makes the claims and pods of its run.

    Histories that were written for another check do not.
    """
    return bool(plan.settings.get("traffic"))


def blames_server(plan: plans.Plan) -> bool:
    """Return whether what the API server does wrong is a violation of the run: it is ours.

    A real kube-apiserver does so by itself, which is neither the subject's fault nor the run's,
    unless a script asks whether it does.
    """
    is_ours = str(plan.cluster_profile.get("provider", "embedded")) == "embedded"
    return is_ours or expects(plan, FINALIZERS)


# ---------------------------------------------------------------------------------- pools


def imported(pools: Settings) -> Settings:
    return pools.get("imported") or {}


def files_have(plan: plans.Plan, *features: str) -> bool:
    return not set(features).isdisjoint(imported(part(plan, "pools")).get("has") or ())


def kinds_have(plan: plans.Plan, *keys: str) -> bool:
    kinds = part(plan, "pools").get("more") or ()
    return any(kind.get(key) for kind in kinds for key in keys)


def pool_taints(plan: plans.Plan) -> list[Settings]:
    kinds = part(plan, "pools").get("more") or ()
    return [taint for kind in kinds for taint in kind.get("taints") or ()] + added_taints(plan)


def added_taints(plan: plans.Plan) -> list[Settings]:
    changes = part(plan, "pools").get("changes") or ()
    return [item for item in changes if item.get("kind") == "taint"]


# --------------------------------------------------------------------------------- faults


class FaultLike(Protocol):
    """A fault of a plan, an application of one, or its effect on a violation."""

    @property
    def kind(self) -> str: ...


def kind_of(hit: FaultLike) -> "type[fault.Fault]":
    """Return the kind of a fault; one of another version has no effect that checks know."""
    from harness.scenario import fault_kinds  # 0.3 s, with pydantic: only runs with faults need it

    return fault_kinds.of(hit.kind)


def effect(hit: FaultLike) -> Effect:
    return kind_of(hit).effect


def plans_effect(plan: plans.Plan, *effects: Effect) -> bool:
    return any(effect(fault) in effects for fault in plan.faults)


def confuses_schedulers(plan: plans.Plan) -> bool:
    """Return whether a nemesis has drawn faults after which a scheduler does not know what it did.

    They show known hazards now and then, by chance; the checks that would find these are off.
    """
    return any(_confuses(fault) for fault in plan.faults if fault.drawn_by)


def _confuses(fault: plans.PlannedFault) -> bool:
    hits = not fault.clients or any(name.startswith(SCHEDULER) for name in fault.clients)
    return effect(fault) in _MOVING or (hits and effect(fault) in _UNSURE)


# -------------------------------------------------------------------------------- scripts


def is_scripted(plan: plans.Plan) -> bool:
    return part(plan, "traffic").get("profile") == naming.SCRIPT


def expects(plan: plans.Plan, check: str) -> bool:
    return check in expected(plan)


def expected(plan: plans.Plan) -> Sequence[str]:
    return (is_scripted(plan) and part(plan, "traffic").get("expects")) or ()


def steps(plan: plans.Plan) -> Sequence[Settings]:
    return part(plan, "traffic").get("steps") or ()


def disturbs(plan: plans.Plan, process: str) -> bool:
    """Return whether a script holds calls or events of a process, or ends or pauses it."""
    named = [str(step.get(key) or "") for step in steps(plan) for key in ("client", "process")]
    return any(name.partition(".")[0] == process for name in named)


# ------------------------------------------------------------- what users or scripts create


def asks_for_extended_resources(plan: plans.Plan) -> bool:
    objects = part(plan, "traffic").get("objects") or () if is_scripted(plan) else ()
    if part(plan, "claim").get("extended") or any(item.get("extended") for item in objects):
        return True
    if not (given := list(_objects(plan))):
        return False
    from harness.scenario.object_sets import set_specs  # 0.2 s, with pydantic

    made = (set_specs.SetObject.model_construct(**item).workload for item in given)
    return any("/" in name for workload in filter(None, made) for name in workload.amounts)


def manifests_have(plan: plans.Plan, key: str) -> bool:
    """Return whether claims or templates in manifests have a key of `devices`, as `constraints`."""
    for item in _objects(plan):
        kind, spec = item["manifest"]["kind"], item["manifest"].get("spec") or {}
        if kind == "ResourceClaimTemplate":
            kind, spec = "ResourceClaim", spec["spec"]
        if kind == "ResourceClaim" and (spec.get("devices") or {}).get(key):
            return True
    return False


def _objects(plan: plans.Plan) -> Iterator[Settings]:
    for one in part(plan, "traffic").get("sets") or ():
        yield from one["objects"]

"""From the faults of a scenario to those of a plan: names, processes, rules and seeds resolved."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from harness import errors, seeds
from harness.cluster import interfaces
from harness.history import plans
from harness.run.fault_planning import (
    client_calls,
    fault_conflicts,
    fault_texts,
    nemesis,
    refusals,
    traffic_rules,
)
from harness.scenario import fault_specs, scenario_faults, specs, subject_specs

CarrierChoice = Literal["auto", "server", "proxy"]
"""Carrier of faults of traffic; auto: the embedded API server itself, elsewhere the proxy.

The server tells clients apart by their user agents, which a program of the user's chooses itself:
faults in its calls need the proxy, which has a port for each client.
"""
_NOT_PARAMETERS = {"name", "kind", "start_s", "start_after", "required", "duration_s"}
"""Keys that a planned fault has as fields."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFaults:
    """The faults of a plan."""

    faults: list[plans.PlannedFault]
    carrier: Literal["", "server", "proxy"]
    """Carrier of the faults of traffic; empty: there are none."""


def plan(
    scenario: specs.Scenario,
    *,
    seed: int,
    on: interfaces.Capabilities,
    provider: str,
    choice: CarrierChoice = "auto",
) -> PlannedFaults:
    """Return the faults of a scenario, whose subject is resolved, on a cluster of this provider.

    Raises UsageError for a fault that cannot work in the run.
    """
    run = refusals.Circumstances(scenario=scenario, on=on, provider=provider)
    random = seeds.Seeds(seed)
    _require_start_conditions(scenario.faults)
    named = _all_resolved(run, random)
    for fault in named:
        refusals.require_possible(fault, run)
    fault_conflicts.require_compatible(named, run)
    carrier = _carrier(choice, run, named)
    faults = [_planned(fault, run, carrier, random) for fault in named]
    has_traffic = any(fault.carrier != "run" for fault in faults)
    return PlannedFaults(faults=faults, carrier=carrier if has_traffic else "")


def _carrier(
    choice: CarrierChoice, run: refusals.Circumstances, faults: Sequence[refusals.NamedFault]
) -> Literal["server", "proxy"]:
    objection = _server_objection(run, faults)
    needy = [item.name for item in faults if isinstance(item.spec, fault_specs.OverlookFinalizers)]
    if needy and (objection or choice == "proxy"):
        raise errors.UsageError(
            f"fault {needy[0]}: expected an embedded API server that carries it itself, because a "
            "proxy cannot remove what has finalizers, got "
            f"{'--fault-carrier proxy' if choice == 'proxy' else run.provider}: run it on the "
            "embedded cluster, or remove the fault"
        )
    if choice == "auto":
        return "proxy" if objection else "server"
    if choice == "server" and objection:
        raise errors.UsageError(f"expected --fault-carrier proxy or auto {objection}")
    return choice


def _server_objection(run: refusals.Circumstances, faults: Sequence[refusals.NamedFault]) -> str:
    """Return why the API server cannot carry the faults itself; empty if it can."""
    if run.provider != "embedded":
        return (
            f"on a cluster of provider {run.provider!r}, got server: only the embedded API server "
            "carries faults itself"
        )
    programs = subject_specs.CommandScheduler
    is_own = any(isinstance(item, programs) for item in run.scenario.subject.schedulers)
    meant = [
        fault.name
        for fault in faults
        if fault_texts.is_traffic(fault.spec) and fault.spec.on.role == "scheduler"
    ]
    if is_own and meant:
        return (
            f"for faults in the calls of a scheduler that is a command, got server with {meant[0]}: "
            "the API server does not know which calls are its"
        )
    return ""


def _require_start_conditions(faults: Sequence[fault_specs.AnyFault]) -> None:
    """Raise UsageError for a fault that begins after a nemesis, which takes no effect itself."""
    named = list(scenario_faults.named(faults))
    drawing = {name for name, fault in named if isinstance(fault, fault_specs.Nemesis)}
    for name, fault in named:
        if fault.start_after is not None and fault.start_after.fault in drawing:
            raise errors.UsageError(
                f"fault {name}: expected start_after to name a fault that takes effect itself, got "
                f"the nemesis {fault.start_after.fault}: name another one"
            )


def drawn(
    scenario: specs.Scenario, *, seed: int, on: interfaces.Capabilities, provider: str
) -> list[refusals.AnySpec]:
    """Return the faults of a scenario with their names; what a nemesis draws takes its place.

    Raises UsageError if a nemesis finds no faults that the run allows.
    """
    run = refusals.Circumstances(scenario=scenario, on=on, provider=provider)
    named = _all_resolved(run, seeds.Seeds(seed))
    return [fault.spec.model_copy(update={"name": fault.name}) for fault in named]


def _all_resolved(run: refusals.Circumstances, random: seeds.Seeds) -> list[refusals.NamedFault]:
    return [
        fault
        for name, spec in scenario_faults.named(run.scenario.faults)
        for fault in _resolved(name, spec, run, random)
    ]


def _resolved(
    name: str, spec: fault_specs.AnyFault, run: refusals.Circumstances, random: seeds.Seeds
) -> list[refusals.NamedFault]:
    """Return the fault itself, or those that a nemesis draws."""
    if isinstance(spec, fault_specs.Nemesis):
        return nemesis.draw(name, spec, run, random.stream("nemesis", name))
    return [refusals.NamedFault(name=name, spec=spec)]


def _planned(
    fault: refusals.NamedFault,
    run: refusals.Circumstances,
    carrier: Literal["server", "proxy"],
    random: seeds.Seeds,
) -> plans.PlannedFault:
    spec, rule, parameters = fault.spec, dict[str, Any](), dict[str, Any]()
    clients = _clients(spec, run)
    if fault_texts.is_traffic(spec):
        seed = random.derive("fault", fault.name)
        found = traffic_rules.rule(fault.name, spec, clients=clients, seed=seed)
        rule = traffic_rules.document(found)
    else:
        parameters = spec.model_dump(mode="json", exclude=_NOT_PARAMETERS)
    after = spec.start_after
    return plans.PlannedFault(
        name=fault.name,
        kind=spec.kind,
        carrier=carrier if rule else "run",
        clients=clients,
        required=spec.required,
        start_s=spec.start_s,
        start_after=plans.StartCondition(**after.model_dump()) if after else None,
        duration_s=getattr(spec, "duration_s", None),
        drawn_by=fault.drawn_by,
        text=fault_texts.sentence(spec, clients),
        rule=rule,
        parameters=parameters,
    )


def _clients(spec: refusals.AnySpec, run: refusals.Circumstances) -> list[str]:
    subject = run.scenario.subject
    match spec:
        case (
            fault_specs.TouchObjects()
            | fault_specs.ReallocateClaims()
            | fault_specs.RestartApiServer()
            | fault_specs.PluginFault()
        ):
            return []
        case fault_specs.LoseNode():
            return [client_calls.LOST_KUBELET]
        case fault_specs.TakeOver():
            return client_calls.processes("scheduler", subject)[:1]
        case fault_specs.ProcessFault():
            return client_calls.ended_processes(spec.role, subject, run.on)[:1]
        case _:
            return client_calls.processes(spec.on.role, subject)

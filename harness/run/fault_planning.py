"""Plans the faults of a scenario: names, processes, rules and seeds are resolved.

Refused are faults that cannot work in the run, each with a reason and a remedy: alone (each kind
knows why), or together, because they act on one process at one time. Of faults that never take
effect the certificate tells.
"""

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from harness import errors, seeds, suggestions
from harness.cluster import interfaces
from harness.history import plans
from harness.model import naming
from harness.run import subjects
from harness.run.programs import driver_commands
from harness.scenario import fault_kinds, script_specs, specs, subject_specs, traffic_specs
from harness.scenario.fault_kinds import fault, stopped_processes, traffic_fault

_KUBELET = "kubelet"


def _run_of(scenario: specs.Scenario, on: interfaces.Capabilities, provider: str) -> fault.Run:
    subject = scenario.subject
    controllers = subjects.owned_controllers(subject)
    places = driver_commands.of_run(scenario)
    processes: dict[fault.Role, list[str]] = {
        "scheduler": subjects.owned_schedulers(subject),
        "claim-controller": controllers,
        "kubelet": [_KUBELET],
        "load": ["traffic"],
        "recorder": ["recorder"],
    }
    is_hit = any(item.needs_own_kubelet for item in scenario.faults)
    of_cluster = [on.claim_controller_process] if on.claim_controller_process else []
    return fault.Run(
        pools=scenario.pools,
        claims=scenario.claim_kinds,
        traffic=scenario.traffic,
        provider=provider,
        is_alone=on.exclusive,
        restarts_api_server=on.restarts_api_server,
        longest_s=scenario.traffic.longest_s or scenario.timeout_s,
        processes=processes,
        ended={
            "scheduler": processes["scheduler"],
            "claim-controller": controllers or of_cluster,
            "kubelet": [_KUBELET],
            "driver": [place.process for place in places],
        },
        foreign_schedulers=[
            item.kind for item in subject.schedulers if not isinstance(item, subjects.OWNED)
        ],
        foreign_controller="" if controllers else str(subject.claim_controller),
        reboots_driver=driver_commands.of(subject).is_in_process
        or any(len(place.nodes) == 1 for place in places),
        kubelets=[_KUBELET, stopped_processes.KUBELET] if is_hit else [_KUBELET],
    )


def _script(traffic: script_specs.ScriptTraffic, run: fault.Run) -> plans.PlannedFault:
    subject = [*run.processes["scheduler"], *run.processes["claim-controller"]]
    processes = [naming.first_incarnation(name) for name in (*subject, _KUBELET)]
    for name in traffic.named_processes:
        if name not in processes:
            raise errors.UsageError(
                f"script: expected processes that this run starts ({', '.join(processes)}), got "
                f"{name!r}: choose another subject or claim controller, or correct the script."
                f"{suggestions.did_you_mean(name, processes)}"
            )
    return plans.PlannedFault(
        name=script_specs.JOURNAL,
        kind=script_specs.JOURNAL,
        carrier="run",
        clients=list(dict.fromkeys([*subject, *traffic.clients])),
        required=False,
        text=f"A script of {len(traffic.steps)} steps holds what it names until its turn has come.",
    )


TRIES_PER_DRAW = 50
"""Times that a draw is repeated because the run does not allow it; then it is an error."""
DRAWN = [name for name, kind in fault_kinds.BY_NAME.items() if kind.drawn]
"""The kinds that can be drawn.

Claims are not moved to other devices: that competes with the scheduler for free ones.
"""
Refused = Callable[[Sequence[fault.Fault]], str]
"""Returns why faults cannot work together in the run; empty: they can."""


def draw(
    name: str, spec: fault.Nemesis, refused: Refused, dice: random.Random
) -> list[fault.Fault]:
    """Return the faults that a nemesis of this name injects, with names.

    If the nemesis is required, at least one of them has to take effect: which calls happen in the
    time of each is chance.

    Raises UsageError for an unknown kind, or if the run allows too few of the kinds.
    """
    for kind in spec.kinds:
        if kind not in DRAWN:
            near = suggestions.did_you_mean(kind, DRAWN)
            raise errors.UsageError(
                f"fault {name}: expected kinds among {', '.join(DRAWN)}, got {kind!r}.{near}"
            )
    drawn: list[fault.Fault] = []
    for number in range(1, spec.draws + 1):
        for _ in range(TRIES_PER_DRAW):
            one = _drawn_once(f"{name}-{number}", spec, dice)
            why = refused([*drawn, one])
            if not why:
                drawn.append(one)
                break
        else:
            kinds = ", ".join(spec.kinds or DRAWN)
            raise errors.UsageError(
                f"fault {name}: expected kinds that this run allows, got {kinds}; the last draw was "
                f"refused ({why}): name others in `kinds`, draw fewer, or make within_s shorter"
            )
    return drawn


def _drawn_once(name: str, spec: fault.Nemesis, dice: random.Random) -> fault.Fault:
    kind = dice.choice(list(spec.kinds or DRAWN))
    start_s = spec.start_s + fault.seconds(0.0, spec.within_s)(dice)
    keys = {"kind": kind, "start_s": start_s, "required": spec.required}
    keys |= fault_kinds.of(kind).draw(dice)
    if spec.start_after is not None:
        keys["start_after"] = spec.start_after
    return fault_kinds.one(keys).model_copy(update={"name": f"{name}-{kind}"})


CarrierChoice = Literal["auto", "server", "proxy"]
"""Carrier of faults of traffic; auto: the embedded API server itself, elsewhere the proxy.

The server distinguishes clients by their user agents, which a program of the user's chooses itself:
faults in its calls need the proxy, which has a port for each client.
"""
_NOT_PARAMETERS = {"name", "kind", "start_s", "start_after", "required", "duration_s"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFaults:
    """The faults of a plan."""

    faults: list[plans.PlannedFault]
    carrier: Literal["", "server", "proxy"]
    """Carrier of the faults of traffic; empty: there are none."""
    kubelets: list[str]


def plan(
    scenario: specs.Scenario,
    *,
    seed: int,
    on: interfaces.Capabilities,
    provider: str,
    choice: CarrierChoice = "auto",
) -> PlannedFaults:
    run = _run_of(scenario, on, provider)
    random = seeds.Seeds(seed)
    resolved = list(_resolved(scenario, run, random))
    faults = [item for item, _ in resolved]
    if objection := next(_objections(faults, run), ""):
        raise errors.UsageError(objection)
    carrier = _carrier(choice, scenario, run, faults)
    planned = [_planned(item, drawn_by, run, carrier, random) for item, drawn_by in resolved]
    has_traffic = any(item.carrier != "run" for item in planned)
    if isinstance(scenario.traffic, script_specs.ScriptTraffic):
        planned.append(_script(scenario.traffic, run))
        has_traffic = True
    return PlannedFaults(
        faults=planned,
        carrier=carrier if has_traffic else "",
        kubelets=run.kubelets,
    )


def drawn(
    scenario: specs.Scenario, *, seed: int, on: interfaces.Capabilities, provider: str
) -> list[fault.Fault]:
    """Return the faults of a scenario, with what its nemeses draw in their place."""
    run = _run_of(scenario, on, provider)
    return [item for item, _ in _resolved(scenario, run, seeds.Seeds(seed))]


def _resolved(
    scenario: specs.Scenario, run: fault.Run, random: seeds.Seeds
) -> Iterator[tuple[fault.Fault, str]]:
    def refused(faults: Sequence[fault.Fault]) -> str:
        return next(_objections(faults, run), "")

    for name, spec in scenario.named_faults:
        if isinstance(spec, fault.Nemesis):
            dice = random.stream("nemesis", name)
            yield from ((item, name) for item in draw(name, spec, refused, dice))
        else:
            yield spec.model_copy(update={"name": name}), ""


def _planned(
    spec: fault.Fault,
    drawn_by: str,
    run: fault.Run,
    carrier: Literal["server", "proxy"],
    random: seeds.Seeds,
) -> plans.PlannedFault:
    name, clients = spec.name or spec.kind, spec.clients(run)
    rule, parameters = dict[str, Any](), dict[str, Any]()
    if isinstance(spec, traffic_fault.TrafficFault):
        seed = random.derive("fault", name)
        rule = msgspec.to_builtins(spec.rule(name, clients=clients, seed=seed))
    else:
        parameters = spec.model_dump(mode="json", exclude=_NOT_PARAMETERS)
    after = spec.start_after
    is_timed = isinstance(run.traffic, traffic_specs.TimedTraffic) and not drawn_by
    owed = spec.times if isinstance(spec, fault.RepeatedFault) and spec.once and is_timed else 0
    return plans.PlannedFault(
        name=name,
        kind=spec.kind,
        carrier=carrier if rule else "run",
        clients=clients,
        required=spec.required,
        start_s=spec.start_s,
        start_after=plans.StartCondition(**after.model_dump()) if after else None,
        duration_s=getattr(spec, "duration_s", None),
        drawn_by=drawn_by,
        owed=owed,
        text=spec.sentence(clients),
        rule=rule,
        parameters=parameters,
    )


# ----------------------------------------------------------------------------- carriers


def _carrier(
    choice: CarrierChoice, scenario: specs.Scenario, run: fault.Run, faults: Sequence[fault.Fault]
) -> Literal["server", "proxy"]:
    traffic = [item for item in faults if isinstance(item, traffic_fault.TrafficFault)]
    objection = _server_objection(scenario, run, traffic)
    needy = next((item for item in traffic if item.needs_server), None)
    if needy is not None and (objection or choice == "proxy"):
        raise errors.UsageError(
            f"fault {needy.name}: expected an embedded API server that carries it itself, because a "
            "proxy cannot remove what has finalizers, got "
            f"{'--fault-carrier proxy' if choice == 'proxy' else run.provider}: run it on the "
            "embedded cluster, or remove the fault"
        )
    if choice == "auto":
        return "proxy" if objection else "server"
    if choice == "server" and objection:
        raise errors.UsageError(f"expected --fault-carrier proxy or auto {objection}")
    return choice


def _server_objection(
    scenario: specs.Scenario, run: fault.Run, faults: Sequence[traffic_fault.TrafficFault]
) -> str:
    if run.provider != "embedded":
        return (
            f"on a cluster of provider {run.provider!r}, got server: only the embedded API server "
            "carries faults itself"
        )
    programs = subject_specs.CommandScheduler
    is_own = any(isinstance(item, programs) for item in scenario.subject.schedulers)
    meant = [item.name for item in faults if item.on.role == "scheduler"]
    meant += [script_specs.JOURNAL] * isinstance(scenario.traffic, script_specs.ScriptTraffic)
    if is_own and meant:
        return (
            f"for faults in the calls of a scheduler that is a command, got server with {meant[0]}: "
            "the API server does not know which calls are its"
        )
    return ""


# ----------------------------------------------------------------------------- refusals


def _objections(faults: Sequence[fault.Fault], run: fault.Run) -> Iterator[str]:
    for item in faults:
        for objection in itertools.chain(item.objections(run), item.time_objections(run)):
            yield f"fault {item.name}: {objection}"
    yield from _at_once(faults, run)


def _at_once(faults: Sequence[fault.Fault], run: fault.Run) -> Iterator[str]:
    ended = [(item.clients(run)[0], item) for item in faults if item.ends_process]
    for (one, earlier), (other, later) in itertools.combinations(ended, 2):
        if one == other and _overlap(earlier, later):
            yield (
                f"fault {later.name}: expected one fault of {other} at a time, but {earlier.name} "
                "acts on it then, and neither could be healed: change start_s, or use start_after"
            )


def _overlap(first: fault.Fault, second: fault.Fault) -> bool:
    if first.start_after or second.start_after:
        return False
    if first.lasts_until_end or second.lasts_until_end:
        return True
    ends = [item.start_s + item.length_s for item in (first, second)]
    return first.start_s <= ends[1] and second.start_s <= ends[0]

"""The run as planning knows it: its processes, which of them faults can hit, and its script."""

from harness import errors, suggestions
from harness.cluster import interfaces
from harness.history import plans
from harness.model import naming
from harness.run import subjects
from harness.run.programs import driver_commands
from harness.scenario import script_specs, specs
from harness.scenario.fault_kinds import fault, lost_nodes

_KUBELET = "kubelet"


def of(scenario: specs.Scenario, on: interfaces.Capabilities, provider: str) -> fault.Run:
    """Return the run of a scenario whose subject is resolved, as faults see it."""
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
        kubelets=[_KUBELET, lost_nodes.KUBELET] if is_hit else [_KUBELET],
    )


def script(traffic: script_specs.ScriptTraffic, run: fault.Run) -> plans.PlannedFault:
    """Return the script as a fault of the plan, with the clients that it holds.

    Raises UsageError for a process that the run does not start.
    """
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

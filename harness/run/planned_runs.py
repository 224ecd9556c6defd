"""The run that faults are planned for: its processes, and what the cluster allows."""

from harness.cluster import interfaces
from harness.run import subjects
from harness.run.programs import driver_commands
from harness.scenario import specs
from harness.scenario.fault_kinds import fault, lost_nodes

_RECORDER, _KUBELET, _TRAFFIC = "recorder", "kubelet", "traffic"
"""Process names, as in `run_processes`."""


class PlannedRun(fault.Run):
    """The run of a scenario whose subject is resolved."""

    def __init__(
        self, scenario: specs.Scenario, on: interfaces.Capabilities, provider: str
    ) -> None:
        subject = scenario.subject
        controllers = subjects.owned_controllers(subject)
        processes: dict[fault.Role, list[str]] = {
            "scheduler": subjects.owned_schedulers(subject),
            "claim-controller": controllers,
            "kubelet": [_KUBELET],
            "load": [_TRAFFIC],
            "recorder": [_RECORDER],
        }
        is_hit = any(item.needs_own_kubelet for item in scenario.faults)
        of_cluster = [on.claim_controller_process] if on.claim_controller_process else []
        super().__init__(
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
                "kubelet": processes["kubelet"],
                "driver": [place.process for place in driver_commands.of_run(scenario)],
            },
            foreign_schedulers=[
                item.kind for item in subject.schedulers if not isinstance(item, subjects.OWNED)
            ],
            foreign_controller="" if controllers else str(subject.claim_controller),
            reboots_driver=_reboots_driver(scenario),
            kubelets=[_KUBELET, lost_nodes.KUBELET] if is_hit else [_KUBELET],
        )


def _reboots_driver(scenario: specs.Scenario) -> bool:
    """Return whether a process of its own serves the last node, or the driver is no process."""
    places = driver_commands.of_run(scenario)
    is_alone = any(len(place.nodes) == 1 for place in places)
    return is_alone or driver_commands.of(scenario.subject).is_in_process

"""The script in the plan of a run: a fault that the run injects, with the clients that it holds."""

from collections.abc import Iterator, Sequence

from harness import errors, suggestions
from harness.history import plans
from harness.model import naming
from harness.scenario import script_specs
from harness.scenario.fault_kinds import fault


def planned(script: script_specs.ScriptTraffic, run: fault.Run) -> plans.PlannedFault:
    """Return the script as a fault of the plan.

    Raises UsageError for a process that the run does not start.
    """
    processes = list(_processes(run))
    for name in script.named_processes:
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
        clients=list(dict.fromkeys([*subject(run), *script.clients])),
        required=False,
        text=f"A script of {len(script.steps)} steps holds what it names until its turn has come.",
    )


def subject(run: fault.Run) -> list[str]:
    """Return the processes that have to be ready before the first step."""
    return [*run.processes["scheduler"], *run.processes["claim-controller"]]


def _processes(run: fault.Run) -> Iterator[str]:
    roles: Sequence[fault.Role] = ("scheduler", "claim-controller", "kubelet")
    for role in roles:
        yield from map(naming.first_incarnation, run.processes[role])

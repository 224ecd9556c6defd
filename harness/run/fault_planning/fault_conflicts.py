"""Faults that cannot work together in a run: found when it is planned, with reason and remedy.

They wait for each other, take all calls of another one, or act on one process at one time.
Reasons that concern a single fault are in `refusals`.
"""

from collections.abc import Sequence

from harness import errors
from harness.run.fault_planning import client_calls, fault_texts, hidden_faults, refusals
from harness.scenario import fault_specs


def why_not(faults: Sequence[refusals.NamedFault], run: refusals.Circumstances) -> str:
    """Return why the faults cannot work together in the run; empty if they can."""
    try:
        for fault in faults:
            refusals.require_possible(fault, run)
        require_compatible(faults, run)
    except errors.UsageError as error:
        return str(error)
    return ""


def require_compatible(faults: Sequence[refusals.NamedFault], run: refusals.Circumstances) -> None:
    """Raise UsageError if faults wait for each other, or act on one process at one time."""
    _require_reachable(faults)
    _require_unhidden(faults)
    lives = [fault for fault in faults if _process(fault.spec, run)]
    for index, later in enumerate(lives):
        for earlier in lives[:index]:
            if _process(earlier.spec, run) == _process(later.spec, run) and _overlap(
                earlier.spec, later.spec
            ):
                raise errors.UsageError(
                    f"fault {later.name}: expected one fault of {_process(later.spec, run)} at a "
                    f"time, but {earlier.name} acts on it then, and neither could be healed: "
                    "change start_s, or use start_after"
                )


def _require_unhidden(faults: Sequence[refusals.NamedFault]) -> None:
    """Raise UsageError if a fault can never take effect because an earlier one takes all."""
    traffic = [(fault.name, fault.spec) for fault in faults if fault_texts.is_traffic(fault.spec)]
    for index, (name, spec) in enumerate(traffic):
        first = hidden_faults.hiding(spec, traffic[:index])
        if first is not None:
            raise errors.UsageError(
                f"fault {name}: expected calls or events that are left for it, but {first} takes "
                f"all of them, as it comes first: put {name} before {first} in the scenario"
            )


def _require_reachable(faults: Sequence[refusals.NamedFault]) -> None:
    """Raise UsageError if a fault can only begin after itself."""
    after = {fault.name: fault.spec.start_after.fault for fault in faults if fault.spec.start_after}
    for name, first in after.items():
        path, at = [name], first
        while at in after and at not in path:
            path.append(at)
            at = after[at]
        if at in path:
            circle = " after ".join([*path, at])
            raise errors.UsageError(
                f"fault {name}: expected start_after to end at a fault that begins by itself, got "
                f"{circle}: give one of them a start_s only"
            )


def _process(spec: refusals.AnySpec, run: refusals.Circumstances) -> str:
    """Return the process whose life a fault changes; empty: none."""
    match spec:
        case fault_specs.TakeOver():
            role: fault_specs.Role = "scheduler"
        case fault_specs.ProcessFault():
            role = spec.role
        case fault_specs.LoseNode():
            return client_calls.LOST_KUBELET
        case _:
            return ""
    return client_calls.ended_processes(role, run.scenario.subject, run.on)[0]


def _overlap(first: refusals.AnySpec, second: refusals.AnySpec) -> bool:
    """Return whether both faults are under way at one time; False if that is not known."""
    if first.start_after or second.start_after:
        return False
    ends = [spec.start_s + refusals.length(spec) for spec in (first, second)]
    if any(
        isinstance(spec, fault_specs.TakeOver) and spec.ends == "pause" for spec in (first, second)
    ):
        return True
    return first.start_s <= ends[1] and second.start_s <= ends[0]

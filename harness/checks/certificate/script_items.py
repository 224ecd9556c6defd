"""Was the script followed: did every step happen, in its time?"""

from harness.checks import plan_facts, protocol
from harness.history import histories, records

NAME = "script"
"""Name of the item."""


def steps(history: histories.History) -> list[records.ScriptStep]:
    """Return the steps that the run recorded, in order; none if there is no record."""
    reader = history.script()
    found = list(reader) if reader is not None else []
    return [item for item in found if isinstance(item, records.ScriptStep)]


def answer(evidence: protocol.Evidence) -> tuple[bool, str]:
    """Return whether every step of the plan's script happened in its time, in order."""
    reader, planned = evidence.history.script(), plan_facts.steps(evidence.plan)
    if reader is None:
        return False, "the run left no record of its script"
    played = [item for item in reader if isinstance(item, records.ScriptStep)]
    ok, ending = reader.ended_in_order("steps of the script")
    if not ok:
        return False, ending
    late = next((item for item in played if item.late), None)
    if late is not None:
        waited_s = (late.ended_ns - late.begun_ns) / 1e9
        return False, (
            f"step {late.step} of {len(planned)} did not happen: {late.text}; after {waited_s:.1f} s: "
            f"{late.late}"
        )
    if [item.step for item in played] != list(range(1, len(planned) + 1)):
        return False, f"{len(played)} of {len(planned)} steps were played"
    return True, f"all {len(planned)} steps happened in their order"

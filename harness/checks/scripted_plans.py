"""Plans of scripts, for checks: a script commands the order of events, and asks about one of them.

In other runs faults come by chance, and a check passes over what a known hazard does with them. A
script is played to see whether a program has the hazard, so that nothing is passed over. Only what
the script itself has written is not the subject's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.history import plans
from harness.model import naming


def is_scripted(plan: plans.Plan) -> bool:
    return _traffic(plan.settings).get("profile") == naming.SCRIPT


def expects(plan: plans.Plan, check: str) -> bool:
    """Return whether the run plays a script that is about violations of this check."""
    return check in expected(plan)


def expected(plan: plans.Plan) -> Sequence[str]:
    """Return the names of the checks that the script of the run is about; empty: it has none."""
    return (is_scripted(plan) and _traffic(plan.settings).get("expects")) or ()


def steps(plan: plans.Plan) -> Sequence[Mapping[str, Any]]:
    """Return the steps of the script, as JSON."""
    return _traffic(plan.settings).get("steps") or ()


def disturbs(plan: plans.Plan, process: str) -> bool:
    """Return whether a script holds calls or events of a process, or ends or pauses it."""
    named = [str(step.get(key) or "") for step in steps(plan) for key in ("client", "process")]
    return any(name.partition(".")[0] == process for name in named)


def has_extended_pods(settings: Mapping[str, Any]) -> bool:
    played = _traffic(settings)
    is_script = played.get("profile") == naming.SCRIPT
    objects: Sequence[Mapping[str, Any]] = (played.get("objects") or ()) if is_script else ()
    return any(item.get("extended") for item in objects)


def _traffic(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return settings.get("traffic") or {}

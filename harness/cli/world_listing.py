"""The worlds that `explore` searches, for `flake-hunt scenarios worlds`."""

import dataclasses
from typing import TYPE_CHECKING

from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.explore.worlds import world_specs


def show(output: str) -> int:
    """Print the worlds; return the exit code."""
    from harness.explore.worlds import world_catalogue

    with outputs.chosen(output) as out:
        if out.is_json:
            listed = [_listed(*item) for item in world_catalogue.WORLDS.items()]
            out.document({"schema": 1, "scenarios": listed})
            return 0
        width = max(map(len, world_catalogue.WORLDS)) + 2
        for name, spec in world_catalogue.WORLDS.items():
            print(f"{name:<{width}}{spec.title}{_note(spec)}")
    return 0


def _listed(name: str, spec: "world_specs.WorldSpec") -> dict[str, object]:
    hazard = None if spec.hazard is None else dataclasses.asdict(spec.hazard)
    return {
        "name": name,
        "title": spec.title,
        "faults": spec.faults,
        "is_known_to_fail": hazard is not None,
        "hazard": hazard,
    }


def _note(spec: "world_specs.WorldSpec") -> str:
    if spec.hazard is None:
        return ""
    known = "known to fail even without a defect"
    confirm = _confirm(spec.hazard.hypothesis)
    if spec.hazard.remedy is None:
        return f" ({known}: {spec.hazard.hypothesis}{confirm})"
    return f" ({known}, but not with --remedy {spec.hazard.remedy}{confirm})"


def _confirm(name: str) -> str:
    """Return the command that shows a hazard on real programs; empty: it has no script."""
    from harness.scenario import hazards

    has_script = hazards.scripts(hazards.pages()[name].hazard)
    return f"; flake-hunt confirm {name}" if has_script else ""

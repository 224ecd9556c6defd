"""Makes the plan of a campaign that tests one program."""

import functools
import pathlib
from collections.abc import Iterable, Sequence

import msgspec

from harness import errors
from harness.campaign import campaign_plan
from harness.campaign.programs import fitting, tested_programs
from harness.scenario import hazards, loading, profiles

ALL = "all"
"""`--must-survive all`: every hazard counts."""


def plan(
    program: tested_programs.TestedProgram,
    scenarios: Sequence[str],
    *,
    seed: int,
    repeat: int,
    reports: pathlib.Path,
    cluster: profiles.Profile,
    claim_controller: str = "",
    again: Sequence[str] = (),
) -> campaign_plan.CampaignPlan:
    """Return the plan of a test.

    `scenarios`: those that the user names; empty: those of the program's choice that fit it.
    `repeat` is the number of runs of each, without controls. Raises UsageError or ScenarioError for
    a test that cannot work.
    """
    load = functools.cache(loading.load)
    is_chosen = program.choice == "chosen"
    names = scenarios if is_chosen else fitting.of_choice(program, load)
    reasons = {
        name: why
        for name in names
        if not is_chosen and (why := fitting.misfit(program, load(name).scenario))
    }
    made = campaign_plan.plan(
        [name for name in names if name not in reasons],
        program=program,
        seed=seed,
        repeat=repeat,
        repeat_controls=1,
        reports=reports,
        cluster=cluster,
        claim_controller=claim_controller,
        again=again,
        leaves_out=not is_chosen,
        load=load,
    )
    reasons |= made.left_out
    names = [name for name in names if name not in reasons]
    _require_asked(program, {load(name).scenario.known_to_fail for name in names})
    if not is_chosen:
        left_out = [
            tested_programs.LeftOut(scenario=name, reason=reasons[name]) for name in reasons
        ]
        program = msgspec.structs.replace(
            program, left_out=left_out, not_tried=fitting.not_tried(names, load)
        )
    return msgspec.structs.replace(made, program=program, left_out={}, selection=[])


def _require_asked(program: tested_programs.TestedProgram, hazards_asked: Iterable[str]) -> None:
    """Raise UsageError for a hazard that must be survived, and that no scenario asks for."""
    asked = {*hazards_asked} - {""}
    for name in {*program.must_survive} - {ALL, *asked}:
        page = hazards.find(name)
        others = hazards.scenarios(page.hazard) if page is not None else []
        where = f"name its scenario, {others[0]}" if others else "no scenario asks for it"
        raise errors.UsageError(
            f"--must-survive: expected a hazard that this test asks for ({', '.join(sorted(asked)) or 'none'}), got {name}: {where}"
        )


def require_hazards(names: Sequence[str]) -> list[str]:
    """Return the names of hazards as their pages write them; of `all`, that word alone."""
    if ALL in names:
        return [ALL]
    found = []
    for name in names:
        page = hazards.find(name)
        if page is None:
            known = ", ".join(hazards.pages())
            raise errors.UsageError(
                f"--must-survive: expected a known hazard or `all`, got {name!r}. Known: {known}"
            )
        found.append(page.hazard.id)
    return found

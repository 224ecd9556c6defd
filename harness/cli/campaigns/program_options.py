"""Options about the program of a test, and the test's plan made from them."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing

if TYPE_CHECKING:
    from harness.campaign import campaign_plan
    from harness.campaign.programs import tested_programs

Quick = Annotated[
    bool,
    typer.Option(
        "--quick", help="About two minutes: fewer scenarios, and one known bug as control."
    ),
]
MustSurvive = Annotated[
    list[str] | None,
    typer.Option(
        "--must-survive",
        metavar="HAZARD",
        help="Count this known hazard, such as H1, as a violation, because the program is said to be mended (may be "
        "repeated; `all`: every one).",
    ),
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """The options of `test`, and of `plan --program`."""

    is_quick: Quick = False
    must_survive: MustSurvive = None

    def identified(
        self, text: str, words: Sequence[str], *, place: choosing.PlaceOptions, is_whole: bool
    ) -> "tested_programs.TestedProgram":
        """Return what the program is; `words` are scenarios, and flags for it after them.

        Raises UsageError for one that cannot be tested.
        """
        import msgspec

        from harness.campaign.programs import identifying, program_plans

        if self.is_quick and is_whole:
            raise errors.UsageError("expected --quick or --all, got both: leave one out")
        must_survive = program_plans.require_hazards(self.must_survive or ())
        scenarios, flags = divided(words)
        found = identifying.identify(text, flags, choosing.folder(place.binaries))
        choice = "quick" if self.is_quick else "all" if is_whole else "default"
        return msgspec.structs.replace(
            found, choice="chosen" if scenarios else choice, must_survive=must_survive
        )


def planned(
    program: "tested_programs.TestedProgram",
    words: Sequence[str],
    *,
    place: choosing.PlaceOptions,
    seed: int,
    repeat: int,
    reports: pathlib.Path,
    again: list[str],
) -> "campaign_plan.CampaignPlan":
    """Return the plan of a test; `words` are scenarios, and flags after them.

    Raises UsageError or ScenarioError for a test that cannot work.
    """
    from harness.campaign.programs import program_plans
    from harness.scenario import loading

    scenarios, _ = divided(words)
    return program_plans.plan(
        program,
        loading.expanded(scenarios),
        seed=seed,
        repeat=repeat,
        reports=reports,
        cluster=place.profile(),
        claim_controller=place.claim_controller,
        binaries=choosing.folder(place.binaries),
        fault_carrier=place.fault_carrier,
        again=again,
    )


def divided(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of scenarios, and the flags: all words from the first that begins with -."""
    first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    return [*words[:first]], [*words[first:]]

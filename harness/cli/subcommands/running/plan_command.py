"""`flake-hunt plan`: the runs of a campaign over machines, decided before the first of them."""

import pathlib
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing
from harness.cli.campaigns import campaign_options, program_options
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.campaign.sharding import sharded_plans

SHARDS_MAX = 10_000


@choosing.with_groups
def plan(
    options: campaign_options.CampaignOptions,
    of_program: program_options.ProgramOptions,
    program: Annotated[
        str,
        typer.Option(
            "--program",
            metavar="PROGRAM",
            help="Plan the test of this program, as `flake-hunt test` takes it, with its scenarios, hazards and "
            "controls; flags for it come after --.",
        ),
    ] = "",
    shards: Annotated[
        int,
        typer.Option(min=1, max=SHARDS_MAX, help="Number of shards: as many machines can work."),
    ] = 1,
    file: Annotated[
        pathlib.Path,
        typer.Option("-o", "--into", metavar="FILE", help="File to write the plan to."),
    ] = pathlib.Path("plan.json"),
    reports: Annotated[
        pathlib.Path,
        typer.Option(help="Folder of earlier campaigns, which tell how long each run takes."),
    ] = pathlib.Path("reports"),
    quiet: outputs.Quiet = False,  # noqa: FBT002
) -> int:
    """Write the plan of a campaign for many machines: every run, with its seed and its shard.

    It takes the options of `hunt`, except --locustfile. Copy the file to each
    machine, and install this version of Flake Hunt there; the plan contains the scenarios.

    Then run `flake-hunt hunt --plan plan.json --shard 3/20` for one shard, with the same command
    again if it was killed, and `flake-hunt merge SHARD...` to make one campaign of all shards.

    All shards take about the same time if earlier campaigns in --reports show how long each run
    takes. All attempts to catch a control stay in one shard. The same options, seed and reports
    write the same file.
    """
    from harness import seeds
    from harness.campaign.sharding import run_durations, sharded_plans

    chosen = seeds.fresh() if options.seed is None else options.seed
    again = same_campaign(sys.argv[1:], chosen, is_given=options.seed is not None)
    if program:
        _require_no_other_subject(options)
        words = options.scenario or ()
        campaign = program_options.planned(
            of_program.identified(program, words, place=options, is_whole=options.is_whole),
            words,
            place=options,
            seed=chosen,
            repeat=options.repeat,
            reports=reports,
            again=again,
        )
    else:
        campaign = options.planned(chosen, reports=reports, again=again)
    durations = run_durations.known(reports)
    made = sharded_plans.make(campaign, shards=shards, durations=durations)
    sharded_plans.write(file, made)
    with outputs.chosen(quiet=quiet) as out:
        out.note(f"seed {chosen}")
        _tell(made, file, out)
    return 0


def _require_no_other_subject(options: campaign_options.CampaignOptions) -> None:
    """Raise UsageError for options about the subject of a hunt beside a program."""
    given = {
        "--subject": options.subject,
        "--defect": options.defect,
        "--remedy": options.remedy,
        "--as": options.release,
    }
    if found := [name for name, value in given.items() if value]:
        raise errors.UsageError(
            f"expected --program alone, which decides on subject and controls, got {', '.join(found)} too: leave that out"
        )


def same_campaign(arguments: Sequence[str], seed: int, *, is_given: bool) -> list[str]:
    """Return the arguments of `hunt`, or `test`, that make the campaign of `plan` here."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = _without([*arguments[1:end]], ("--shards", "--into", "-o", "--reports"))
    words = [word for word in words if word not in ("--quiet", "-q")]
    program = next((word for word in words if word.startswith("--program")), "")
    if program:
        at = words.index(program)
        value = program.partition("=")[2] or words[at + 1]
        words = ["test", value, *_without(words, ("--program",))]
    else:
        words = ["hunt", *words]
    return [*words, *([] if is_given else ["--seed", str(seed)]), *arguments[end:]]


def _without(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the words without options and their values: `--shards 3`, `--shards=3`, `-o3`."""
    left: list[str] = []
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word in options:
            is_value = True
        elif not (word.startswith("-o") or word.partition("=")[0] in options):
            left.append(word)
    return left


def _tell(made: "sharded_plans.ShardedPlan", file: pathlib.Path, out: outputs.Output) -> None:
    """Print what the plan has, and the commands that follow."""
    sizes = Counter(run.shard for run in made.runs).values()
    span = str(max(sizes)) if len(set(sizes)) == 1 else f"{min(sizes)} to {max(sizes)}"
    known = sum(run.expected_s is not None for run in made.runs)
    out.note(
        f"{outputs.counted(len(made.runs), 'run')} in {outputs.counted(made.shards, 'shard')} "
        f"({span} each), with known durations for {known} of them"
    )
    out.note(f"plan {made.digest}")
    out.note(f"  flake-hunt hunt --plan {file} --shard 1/{made.shards}")
    print(file)

"""`flake-hunt shards plan|merge`: one campaign on many machines."""

import contextlib
import pathlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from harness import errors
from harness.cli import campaigning, choosing, defaults, options
from harness.cli.subcommands import hunt_command, test_command
from harness.cli.terminal import indexing, outputs

if TYPE_CHECKING:
    from harness.campaign import campaign_plan
    from harness.campaign.sharding import merging, sharded_plans

shards = typer.Typer(
    help="One campaign on many machines: plan it, make each shard by `hunt --plan`, and merge.",
    no_args_is_help=True,
)
SHARDS_MAX = 10_000
_NAMED_MAX = 3
"""Missing runs of a shard that are printed by name; merge.json has all."""


_COMMANDS = {"hunt": hunt_command.hunt, "test": test_command.test}
_LATER = {"exit_first", "dry_run", "last_failed", "minutes", "jobs", "plan", "shard", "bisect"}
"""Parameters of these commands that decide nothing about a plan."""


@shards.command(context_settings={"allow_interspersed_args": False})
def plan(
    words: list[str] = options.argument(
        "`hunt` or `test`, with the names and options that decide its runs.", "COMMAND"
    ),
    count: int = options.of(
        "Number of shards: as many machines can work.", "--shards", min=1, max=SHARDS_MAX, default=1
    ),
    file: pathlib.Path = options.of(
        "File to write the plan to.",
        "-o",
        "--into",
        metavar="FILE",
        default=pathlib.Path("plan.json"),
    ),
) -> int:
    """Write the plan of a campaign for many machines: every run, with its seed and its shard.

        flake-hunt shards plan --shards 20 hunt --all --repeat 200

        flake-hunt shards plan --shards 4 test ./kube-scheduler

    Copy the file to each machine, and install this version of Flake Hunt there; the plan contains
    the scenarios. Then run `flake-hunt hunt --plan plan.json --shard 3/20` for one shard, with the
    same command again if it was killed, and `flake-hunt shards merge SHARD...` to make one campaign
    of all shards.

    All shards take about the same time, by the load of each run. All attempts to catch a control
    stay in one shard. The same options and seed write the same file.
    """
    from harness.campaign.sharding import sharded_plans

    campaign = _campaign(words)
    made = sharded_plans.make(campaign, shards=count)
    sharded_plans.write(file, made)
    with outputs.chosen() as out:
        out.note(f"seed {campaign.seed}")
        _tell(made, file, out)
    return 0


def _campaign(words: Sequence[str]) -> "campaign_plan.CampaignPlan":
    name, *arguments = words
    if name not in _COMMANDS:
        raise errors.UsageError(
            f"expected `flake-hunt shards plan [OPTIONS] hunt|test …`, got {name!r}: name one of them"
        )
    app = typer.Typer()
    app.command(name)(_COMMANDS[name])
    command: Any = typer.main.get_command(app)
    context = command.make_context(
        f"flake-hunt {name}", [*arguments], default_map=defaults.of_command(name)
    )
    allowed = context.params.keys() - _LATER
    campaigning.require_no_other_options(context, allowed, "options that decide the runs")
    given = _COMMANDS[name].grouped(context.params)  # type: ignore[attr-defined]
    seed, again = given["making"].seeded(words)
    reports = given["making"].reports
    found: campaign_plan.CampaignPlan = given["options"].planned(seed, reports=reports, again=again)
    return found


def _tell(made: "sharded_plans.ShardedPlan", file: pathlib.Path, out: outputs.Output) -> None:
    sizes = Counter(run.shard for run in made.runs).values()
    span = str(max(sizes)) if len(set(sizes)) == 1 else f"{min(sizes)} to {max(sizes)}"
    out.note(
        f"{outputs.counted(len(made.runs), 'run')} in {outputs.counted(made.shards, 'shard')} "
        f"({span} each)"
    )
    out.note(f"plan {made.digest}")
    out.note(f"  flake-hunt hunt --plan {file} --shard 1/{made.shards}")
    print(file)


@shards.command()
@choosing.with_groups
def merge(
    folders: list[str] = options.argument(
        "Folders of shards, or folders of reports that have some.", "SHARD"
    ),
    folder: pathlib.Path | None = options.of(
        "Folder of the merged campaign (default: one in reports/campaigns).",
        "-o",
        "--into",
        metavar="DIR",
        show_default=False,
    ),
    summary: pathlib.Path | None = choosing.SUMMARY,
    output: outputs.Form = outputs.FORM,
) -> int:
    """Merge the shards of a plan into one campaign: table, pages, JUnit file and exit code.

    Every planned run counts once. A shard or run that is missing is UNKNOWN and named. Of a run
    that was made twice the worst result counts; merge.json keeps the others and names both folders.

    A result counts as VALID only with its run directory, whose verdict.json must say the same.
    Whatever is damaged, of another plan or contradicts itself is named, and is UNKNOWN.

    Run directories stay where they are: the pages link to them.

    The exit code is that of one campaign: 10 if a run was invalid, 20 if one is unknown or missing.
    """
    from harness.campaign.sharding import merging
    from harness.cli.terminal import tables

    given = merging.read(folders)
    target = folder or pathlib.Path("reports", "campaigns", given.folder_name)
    reports = target.parent.parent
    with (
        outputs.chosen(output) as out,
        contextlib.nullcontext() if folder else indexing.refreshed(reports),
    ):
        campaign, document = merging.write(given, target)
        for line in _missing(document):
            out.note(line)
        for item in document.doubled:
            kept = f"the one in {item.folder} is kept in {merging.MERGE}"
            out.note(f"doubled: {item.run}: the result in {item.counted} counts, {kept}")
        tables.show(campaign, target, out)
        campaigning.annotate(campaign, summary)
    return campaign.exit_code


def _missing(merge: "merging.MergeDocument") -> list[str]:
    runs: dict[str, list[str]] = {}
    for item in merge.missing:
        runs.setdefault(item.reason, []).append(item.run)
    return [f"UNKNOWN {reason}: {_named(names)}" for reason, names in runs.items()]


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED_MAX]) + ", …" * (len(names) > _NAMED_MAX)
    return f"{outputs.counted(len(names), 'run')} ({shown})"

"""`flake-hunt merge`: one campaign of the shards that many machines have made."""

import contextlib
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import choosing
from harness.cli.campaigns import campaigning
from harness.cli.terminal import indexing, outputs

if TYPE_CHECKING:
    from harness.campaign.sharding import merging

_NAMED_MAX = 3
"""Missing runs of a shard that are printed by name; merge.json has all."""


def merge(
    shards: Annotated[
        list[str],
        typer.Argument(
            metavar="SHARD",
            help="Folders of shards, or folders of reports that have some; also URLs such as "
            "s3://bucket/reports or 's3://bucket/shards/*', with fsspec (the extra `remote` installs it).",
        ),
    ],
    folder: Annotated[
        pathlib.Path | None,
        typer.Option(
            "-o",
            "--into",
            metavar="DIR",
            help="Folder of the merged campaign (default: one in reports/campaigns).",
            show_default=False,
        ),
    ] = None,
    summary: choosing.Summary = None,
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
) -> int:
    """Merge the shards of a plan into one campaign: table, pages, JUnit file and exit code.

    Every planned run counts once. A shard or run that is missing is UNKNOWN and named. Of a run
    that was made twice the worst result counts; merge.json keeps the others and names both folders.

    A result counts as VALID only with its run directory, whose verdict.json must say the same.
    Whatever is damaged, of another plan or contradicts itself is named, and is UNKNOWN.

    Run directories stay where they are: the pages link to them.

    The exit code is that of one campaign: 10 if a run was invalid, 20 if one is unknown or missing.
    """
    from harness.campaign import results, summaries
    from harness.campaign.sharding import merged_campaigns
    from harness.cli.terminal import annotations, tables

    given = merged_campaigns.read(shards)
    target = folder or pathlib.Path("reports", "campaigns", given.folder_name)
    reports = target.parent.parent
    with (
        outputs.chosen(output, quiet=quiet) as out,
        contextlib.nullcontext() if folder else indexing.refreshed(reports),
    ):
        merged = merged_campaigns.write(given, target)
        for line in [*_missing(merged.merge), *_doubled(merged.merge)]:
            out.note(line)
        table = results.rows(merged.results)
        if out.is_json:
            out.document(merged.campaign)
        else:
            tables.print_campaign(table, merged.campaign, target, out)
        annotations.of_campaign(table)
        annotations.of_thresholds(merged.campaign.thresholds)
    text = summaries.campaign(
        table,
        headline=merged.campaign.headline,
        seed=given.plan.seed,
        answers=merged.campaign.problems,
    )
    campaigning.summarize(summary, text)
    return merged.campaign.exit_code


def _missing(merge: "merging.MergeDocument") -> list[str]:
    """Return a line for each reason why runs are missing."""
    runs: dict[str, list[str]] = {}
    for item in merge.missing:
        runs.setdefault(item.reason, []).append(item.run)
    return [f"UNKNOWN {reason}: {_named(names)}" for reason, names in runs.items()]


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED_MAX]) + ", …" * (len(names) > _NAMED_MAX)
    return f"{outputs.counted(len(names), 'run')} ({shown})"


def _doubled(merge: "merging.MergeDocument") -> list[str]:
    return [
        f"doubled: {item.run}: the result in {item.counted} counts, the one in {item.folder} is kept "
        "in merge.json"
        for item in merge.doubled
    ]

"""`flake-hunt prune`: old campaigns leave a folder of reports."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.campaign import pruning


def prune(
    *,
    keep_campaigns: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Keep at most the newest N campaigns."),
    ] = None,
    keep_days: Annotated[
        float | None,
        typer.Option(
            metavar="DAYS",
            min=0,
            callback=choosing.require_number,
            help="Keep campaigns of at most this age.",
        ),
    ] = None,
    keep_size: Annotated[
        float | None,
        typer.Option(
            metavar="GIB",
            min=0,
            callback=choosing.require_number,
            help="Keep the newest campaigns that take at most this size together, with their runs.",
        ),
    ] = None,
    with_failed: Annotated[
        bool,
        typer.Option(
            "--with-failed",
            help="Also remove runs that were not as expected (INVALID or UNKNOWN ones of the subject, missed controls), and "
            "those that were not judged.",
        ),
    ] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Remove them; else they are only shown.")
    ] = False,
    reports: Annotated[
        pathlib.Path, typer.Option("--reports", help="Folder of the campaigns and runs.")
    ] = pathlib.Path("reports"),
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,
) -> int:
    """Remove old campaigns and their runs from a folder of reports; show them first.

        flake-hunt prune --keep-campaigns 14 --keep-size 20 --delete

    A campaign beyond any of the limits leaves. The newest one stays always, as do single runs of
    `flake-hunt run`, and campaigns that may be under way.

    A run that was not as expected stays with its evidence, and the pages of its campaign with it;
    the other runs of that campaign keep their verdicts and reports. `hunt --keep N` keeps the
    evidence of fewer runs from the beginning.
    """
    from harness.campaign import pruning
    from harness.cli.terminal import indexing

    limits = pruning.Limits(campaigns=keep_campaigns, days=keep_days, gib=keep_size)
    _require(limits, reports)
    with outputs.chosen(output, quiet=quiet) as out:
        found = pruning.planned(reports, limits, with_failed=with_failed)
        if delete and found.campaigns:
            with indexing.refreshed(reports):
                found = pruning.prune(found)
        if out.is_json:
            out.document(found)
            return 0
        for line in outputs.aligned([_row(item) for item in found.campaigns]):
            out.note(line)
        print(_sum(found))
    return 0


def _require(limits: "pruning.Limits", reports: pathlib.Path) -> None:
    """Raise UsageError without a limit, or a folder."""
    if (limits.campaigns, limits.days, limits.gib) == (None, None, None):
        raise errors.UsageError(
            "expected a limit for the campaigns that stay: --keep-campaigns 14, --keep-days 30 or --keep-size 20"
        )
    if not reports.is_dir():
        raise errors.UsageError(
            f"expected a folder of reports, but {reports} is none: name it with --reports"
        )


def _row(item: "pruning.PrunedCampaign") -> tuple[str, str, str]:
    size = f"{item.bytes / 2**20:.1f} MiB".rjust(11)
    if item.is_whole:
        return item.name, size, f"whole, with {outputs.counted(len(item.runs), 'run')}"
    emptied = f"evidence of {outputs.counted(len(item.emptied), 'run')}"
    return item.name, size, f"{emptied}; {len(item.stays)} more stay"


def _sum(found: "pruning.Pruning") -> str:
    """Return how much is freed, and what to do next."""
    stay = f"{outputs.counted(found.within, 'campaign')} within the limits"
    if found.staying:
        stay += f", and {found.staying} of the others with runs that failed (--with-failed)"
    if not found.campaigns:
        return f"Nothing to remove; what stays: {stay}."
    size = f"{found.bytes / 2**20:.1f} MiB of {outputs.counted(len(found.campaigns), 'campaign')}"
    if found.is_done:
        return f"Removed {size}; what stays: {stay}."
    return f"Would remove {size}, with --delete; what stays: {stay}."

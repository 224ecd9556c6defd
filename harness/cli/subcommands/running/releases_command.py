"""`flake-hunt releases`: which release of Kubernetes has which finding."""

import os
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.campaign import campaign_plan
    from harness.campaign.releases import cells, documents, ledgers, measuring
    from harness.scenario import profiles

REPEAT = 3


@choosing.with_groups
def releases(
    on: choosing.ProfileOptions,
    repeat: Annotated[
        int, typer.Option(min=1, max=choosing.REPEAT_MAX, help="Number of runs of each cell.")
    ] = REPEAT,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="FINDING",
            help="Ask about this finding, scenario or group (hazard, race, regress) only (may be repeated).",
        ),
    ] = None,
    release: Annotated[
        list[str] | None,
        typer.Option(
            "--release",
            metavar="VERSION",
            help="Ask releases of this version only, such as 1.36.3 or 1.36 (may be repeated).",
        ),
    ] = None,
    jobs: choosing.Jobs = None,
    into: Annotated[
        pathlib.Path,
        typer.Option("-o", "--into", metavar="FOLDER", help="Folder of the table and its runs."),
    ] = pathlib.Path("reports", "releases"),
    force: choosing.Force = False,  # noqa: FBT002
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
) -> int:
    """Ask every release in a folder of binaries about every finding, and write one table.

        flake-hunt releases --binaries ./kubernetes --only H1

    --binaries names the folder: its files kube-scheduler-VERSION and
    kube-controller-manager-VERSION are the releases. Hazards are asked by their scripts, the two
    races and the scenarios of `regress` by their loads. The finding of the API server
    cannot be asked of a real one.

    The folder gets releases.html, releases.json and all runs. Started again, the command makes only
    the runs that are not there: those of another binary, scenario, harness or cluster, and those
    that could not be executed.

    Exit code 0: every cell was decided. 20: one was not, such as a script that was not followed.
    """
    from harness.campaign.releases import cells, ledgers, programs, questions

    folder, profile = _folder(on.binaries), _profile(on)
    at_once = choosing.jobs(jobs, profile, is_forced=force)
    asked = questions.chosen(only or ())
    with outputs.chosen(output, quiet=quiet) as out, ledgers.opened(into) as ledger:
        found = programs.found(folder, release or ())
        out.note(f"{outputs.counted(len(found), 'release')} in {folder}")
        table = cells.of(asked, found, profile=profile, folder=folder)
        _require_cells(table)
        made = _Table(table, ledger, into=into, profile=profile, repeat=repeat, is_whole=not only)
        made.measure(folder, jobs=at_once, out=out)
        return made.show(out)


def _folder(binaries: pathlib.Path | None) -> pathlib.Path:
    """Return the folder of the releases. Raises UsageError if none is given, or it is none."""
    from harness.cluster.local import binaries as known

    given = binaries or os.environ.get(known.BINARIES_VARIABLE)
    if not given:
        raise errors.UsageError(
            f"expected a folder of releases: name it with --binaries or {known.BINARIES_VARIABLE}"
        )
    if not pathlib.Path(given).is_dir():
        raise errors.UsageError(f"expected a folder of releases, but {given} is none: correct it")
    return pathlib.Path(given).resolve()


def _profile(on: choosing.ProfileOptions) -> "profiles.Profile":
    from harness.cluster.lifecycle import held_clusters

    held_clusters.prepare()
    return on.profile()


def _require_cells(table: "list[cells.Cell]") -> None:
    """Raise UsageError if no chosen release can have any chosen finding."""
    if not table:
        raise errors.UsageError(
            "expected a finding of a program of which there is a release, but the chosen findings "
            "are of other programs: choose others with --only, or other releases"
        )


class _Table:
    """The table of a folder, before and after its runs."""

    def __init__(
        self,
        table: "list[cells.Cell]",
        ledger: "ledgers.Ledger",
        *,
        into: pathlib.Path,
        profile: "profiles.Profile",
        repeat: int,
        is_whole: bool,
    ) -> None:
        self._cells, self._ledger, self._into = table, ledger, into.resolve()
        self._profile, self._repeat, self._is_whole = profile, repeat, is_whole

    def measure(self, folder: pathlib.Path, *, jobs: int, out: outputs.Output) -> None:
        """Make the runs that are not there.

        Raises InterruptionError, which says how to go on, when the user interrupts it.
        """
        from harness.campaign.releases import cells

        plan = cells.plan(
            self._cells,
            self._ledger,
            repeat=self._repeat,
            reports=self._into,
            profile=self._profile,
            folder=folder,
            jobs=jobs,
        )
        before = self._repeat * sum(not cell.impossible for cell in self._cells) - len(plan.runs)
        out.note(f"{outputs.counted(len(plan.runs), 'run')} to make, {before} made before")
        try:
            self._make(plan, out)
        except KeyboardInterrupt as interruption:
            found = self._publish()
            raise errors.InterruptionError(
                f"interrupted; {found.made} of {found.planned} runs are made, and {self._page} has "
                "them: the same command makes the others"
            ) from interruption

    def _make(self, plan: "campaign_plan.CampaignPlan", out: outputs.Output) -> None:
        from harness.campaign import hunting
        from harness.campaign.releases import measuring

        if not plan.runs:
            return
        measuring.make(
            plan,
            self._cells,
            self._ledger,
            folder=hunting.new_folder(self._into, plan.seed),
            on_run=lambda item: out.note(_line(item)),
        )

    def _publish(self) -> "documents.ReleasesDocument":
        from harness.campaign.releases import documents, pages

        document = documents.document(
            self._cells,
            self._ledger,
            folder=self._into,
            cluster=self._profile.name,
            repeat=self._repeat,
            is_whole=self._is_whole,
        )
        pages.publish(document, self._into)
        return document

    @property
    def _page(self) -> pathlib.Path:
        from harness.campaign.releases import pages

        return self._into / pages.NAME

    def show(self, out: outputs.Output) -> int:
        """Print the table; return the exit code."""
        document = self._publish()
        if out.is_json:
            out.document(document)
            return document.exit_code
        for line in _rows(document) if not out.is_quiet else ():
            print(line)
        print(document.summary)
        out.note(f"  {self._page}")
        return document.exit_code


def _line(item: "measuring.Progress") -> str:
    """Return the line of a run that has ended."""
    from harness.report import escaping

    left = f", {_time(item.left_s)} left" if item.done < item.planned else ""
    why = f": {item.answer.reason}" if item.answer.word == "undecided" else ""
    text = (
        f"[{item.done}/{item.planned}] {item.answer.word:<9} {item.cell.question.scenario}, "
        f"{item.cell.release.name} ({item.result.seconds:.1f} s{left}){why}"
    )
    return escaping.visible(text)


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _rows(document: "documents.ReleasesDocument") -> Iterator[str]:
    """Yield the table of each program as lines."""
    from harness.campaign.releases import pages

    for table in pages.tables(document):
        head = [table.program, *(item.version for item in table.releases)]
        rows = [
            [_name(question.finding, question.scenario), *map(_cell, row)]
            for question, row in table.rows
        ]
        yield from outputs.aligned([head, *rows])
        yield ""


def _name(finding: str, scenario: str) -> str:
    return finding if finding == scenario else f"{finding} {scenario}"


def _cell(cell: "documents.Cell") -> str:
    if cell.state in ("shown", "not shown"):
        return f"{cell.state} {cell.shown} of {cell.decided}"
    return cell.state

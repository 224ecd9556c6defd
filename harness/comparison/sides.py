"""The things that are compared: a run, a campaign or a folder of runs each, and their runs.

A run counts once, however many copies of its directory there are. Of a side with runs of the tested
subject only these are compared: positive controls are not about it, nor are hazards and remedies.
"""

import dataclasses
import itertools
import os
import pathlib
import string
from collections.abc import Iterator, Sequence

from harness import errors
from harness.checks import verdicts
from harness.comparison import documents
from harness.history import campaign_folders, report_folders, run_folders

SIDES_MAX = 8
"""Every two are compared: eight have 28 comparisons."""
_PURPOSES = ("subject", "hazard", "asked", "remedy", "control")
"""Purposes of runs; of a side only those of the first one that it has are compared."""
_REASON_MAX = 300
"""Characters of a reason within an error message."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One judged run."""

    path: pathlib.Path
    plan: run_folders.Plan
    verdict: run_folders.Verdict
    purpose: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the things that are compared."""

    label: str
    path: pathlib.Path
    kind: str
    runs: Sequence[Run]
    left_out: Sequence[str]
    """Runs that cannot be read, or whose copies contradict each other, each with the reason."""
    copies: int = 0
    others: int = 0
    campaign: campaign_folders.CampaignFolder | None = None

    def document(self) -> documents.Side:
        """Return it with its verdicts counted."""
        found = [run.verdict.verdict.value for run in self.runs]
        return documents.Side(
            label=self.label,
            path=str(self.path),
            kind=self.kind,
            valid=found.count("VALID"),
            unknown=found.count("UNKNOWN"),
            invalid=found.count("INVALID"),
            left_out=list(self.left_out),
            copies=self.copies,
            others=self.others,
            headline=self._headline(),
            caught=[_named(row) for row in self._rows("control") if row.caught],
            missed=[_named(row) for row in self._rows("control") if not row.caught],
            shown=sorted({row.hypothesis for row in self._rows("hazard", "asked") if row.caught}),
        )

    def _rows(self, *purposes: str) -> list[campaign_folders.Row]:
        rows = self.campaign.rows if self.campaign else []
        return [row for row in rows if row.purpose in purposes]

    def _headline(self) -> str:
        ended = self.campaign
        return f"{ended.verdict} {ended.summary}" if ended and ended.verdict else ""


def _named(row: campaign_folders.Row) -> str:
    return f"{row.scenario}: {row.subject}"


def read_all(
    paths: Sequence[pathlib.Path], labels: Sequence[str] = string.ascii_uppercase
) -> list[Side]:
    """Return the sides, labelled in their order.

    Raises UsageError for fewer than two or too many sides, for one without judged runs, and for
    a run that is on two sides.
    """
    if not 2 <= len(paths) <= SIDES_MAX:
        raise errors.UsageError(
            f"expected two to {SIDES_MAX} runs or campaigns to compare, got {len(paths)}"
        )
    _require_different(paths)
    sides = [_read(label, path) for label, path in zip(labels, paths, strict=False)]
    for first, second in itertools.combinations(sides, 2):
        _require_disjoint(first, second)
    return sides


def _require_different(paths: Sequence[pathlib.Path]) -> None:
    seen: set[pathlib.Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise errors.UsageError(
                f"expected different runs or campaigns, got {path} twice: make the runs of each "
                "side independently"
            )
        seen.add(path.resolve())


def _require_disjoint(first: Side, second: Side) -> None:
    known = {run.plan.run_id: run.path for run in first.runs}
    for run in second.runs:
        if run.plan.run_id in known:
            raise errors.UsageError(
                f"expected different runs on each side, but run {run.plan.run_id} is in "
                f"{first.path} and in {second.path}: make the runs of each side independently"
            )


def _read(label: str, path: pathlib.Path) -> Side:
    kind, found, left_out = _runs_in(path)
    read: list[Run] = []
    for folder, purpose in found:
        try:
            run = run_folders.read(folder)
        except errors.RunDirectoryError as error:
            left_out.append(str(error))
            continue
        if run.plan is None or run.verdict is None:
            left_out.append(f"{folder}: {run.state}: {run.problem}")
        else:
            read.append(Run(folder, run.plan, run.verdict, purpose or run.plan.purpose))
    if not read:
        raise errors.UsageError(
            f"expected runs with verdicts in {path}, got none ({_reason(left_out)}): judge runs "
            "with flake-hunt check"
        )
    once = list(_once(read, left_out))
    chosen = min((run.purpose for run in once), key=_PURPOSES.index)
    runs = [run for run in once if run.purpose == chosen]
    return Side(
        label=label,
        path=path,
        kind=kind,
        runs=runs,
        left_out=left_out,
        copies=len(read) - len(once),
        others=len(once) - len(runs),
        campaign=campaign_folders.read(path) if kind == "campaign" else None,
    )


def _once(read: Sequence[Run], left_out: list[str]) -> Iterator[Run]:
    """Yield each run once, by its id; of copies that differ the worst one, which is noted."""
    copies: dict[str, list[Run]] = {}
    for run in read:
        copies.setdefault(run.plan.run_id, []).append(run)
    for run_id, same in copies.items():
        verdict = verdicts.worst(run.verdict.verdict for run in same)
        if len({run.verdict.verdict for run in same}) > 1:
            left_out.append(f"{same[0].path}: copies of run {run_id} have different verdicts")
        yield next(run for run in same if run.verdict.verdict is verdict)


_Found = list[tuple[pathlib.Path, str]]
"""Run directories, each with its purpose; empty: see its plan."""


def _runs_in(path: pathlib.Path) -> tuple[str, _Found, list[str]]:
    """Return the kind of a path, its runs, and why others are left out."""
    if campaign_folders.is_one(path):
        return "campaign", *_of_campaign(path)
    if os.path.isfile(path / "plan.json"):  # noqa: PTH113 - never raises
        return "run", [(path, "")], []
    found = list(_below(path))
    if not found:
        is_folder = os.path.isdir(path)  # noqa: PTH112 - never raises
        what = "has neither plan.json nor runs" if is_folder else "is no folder"
        raise errors.RunDirectoryError(
            f"expected a run, a campaign or a folder of runs, but {path} {what}: name "
            "reports/<scenario>/<run> or reports/campaigns/<campaign>"
        )
    return "folder of runs", [(run, "") for run in found], []


def _below(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the runs of a scenario's folder, or those of a folder of reports."""
    runs = [found for found in report_folders.folders(path) if (found / "plan.json").is_file()]
    if runs:
        yield from sorted(runs)
    else:
        yield from sorted(report_folders.run_paths(path))


def _of_campaign(path: pathlib.Path) -> tuple[_Found, list[str]]:
    campaign_folders.require_unchosen(path)
    campaign = campaign_folders.read(path)
    if campaign.seed is None:
        raise errors.UsageError(f"expected a campaign, but of {path} {campaign.problem}")
    failed = [
        f"{result.scenario}, {result.subject}: it could not be executed: {_message(result.error)}"
        for result in campaign.results
        if not (result.directory or result.cut)
    ]
    if campaign.is_cut:
        failed.append(f"{path / campaign_folders.RESULTS}: the last line is cut")
    if strange := {result.purpose for result in campaign.results} - set(_PURPOSES):
        raise errors.UsageError(
            f"expected purposes of runs ({', '.join(_PURPOSES)}) in {path}, got "
            f"{min(strange)!r:.40}: its results.jsonl was edited, or is of a newer version"
        )
    return [
        (campaign.directory_of(result), result.purpose)
        for result in campaign.results
        if result.directory and not result.cut
    ], failed


def _message(error: str) -> str:
    """Return the last line of an error, which has the message of one with a traceback."""
    return (error.strip().splitlines() or [""])[-1].strip()[:_REASON_MAX]


def _reason(left_out: Sequence[str]) -> str:
    if not left_out:
        return "it has no runs"
    more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
    return left_out[0].replace("\n", " ")[:_REASON_MAX] + more

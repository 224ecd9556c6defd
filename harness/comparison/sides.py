"""The things that are compared: a run, a campaign or a folder of runs each, and their runs.

A run counts once, however many copies of its directory there are. Of a side with runs of the tested
subject only these are compared: positive controls are not about it, nor are hazards and remedies.
"""

import dataclasses
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from harness import errors
from harness.checks import verdicts
from harness.comparison import documents
from harness.history import campaign_folders, files, plans, report_folders, run_folders

LABELS = ("A", "B")
_INDEPENDENT = "make the runs of each side independently"
_PURPOSES = ("subject", "hazard", "asked", "remedy", "control")
"""Purposes of runs; of a side only those of the first one that it has are compared."""
_REASON_MAX = 300
"""Characters of a reason within an error message."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One judged run."""

    path: pathlib.Path
    plan: plans.Plan
    verdict: run_folders.Verdict
    purpose: str


@dataclasses.dataclass(frozen=True, slots=True)
class Side:
    """One of the things that are compared, and its compared runs."""

    document: documents.Side
    runs: Sequence[Run]

    @property
    def label(self) -> str:
        return self.document.label


def read_both(paths: Sequence[pathlib.Path], labels: Sequence[str] = LABELS) -> tuple[Side, Side]:
    """Return the two sides.

    Raises UsageError for more or fewer, for one without judged runs, and for a run on both.
    """
    if len(paths) != 2:
        raise errors.UsageError(f"expected two runs or campaigns to compare, got {len(paths)}")
    if paths[0].resolve() == paths[1].resolve():
        raise errors.UsageError(
            f"expected different runs or campaigns, got {paths[0]} twice: {_INDEPENDENT}"
        )
    first, second = (_read(label, path) for label, path in zip(labels, paths, strict=True))
    known = {run.plan.run_id: run.path for run in first.runs}
    for run in second.runs:
        if run.plan.run_id in known:
            raise errors.UsageError(
                f"expected different runs on each side, but run {run.plan.run_id} is in "
                f"{paths[0]} and in {paths[1]}: {_INDEPENDENT}"
            )
    return first, second


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
        more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        why = left_out[0].replace("\n", " ")[:_REASON_MAX] if left_out else "it has no runs"
        raise errors.UsageError(
            f"expected runs with verdicts in {path}, got none ({why}{more}): judge runs "
            "with flake-hunt check"
        )
    once = list(_once(read, left_out))
    chosen = min((run.purpose for run in once), key=_PURPOSES.index)
    runs = [run for run in once if run.purpose == chosen]
    found_verdicts = [run.verdict.verdict.value for run in runs]
    document = documents.Side(
        label=label,
        path=str(path),
        kind=kind,
        valid=found_verdicts.count("VALID"),
        unknown=found_verdicts.count("UNKNOWN"),
        invalid=found_verdicts.count("INVALID"),
        left_out=left_out,
        copies=len(read) - len(once),
        others=len(once) - len(runs),
        **(_of_campaign(path) if kind == "campaign" else {}),
    )
    return Side(document, runs)


def _of_campaign(path: pathlib.Path) -> dict[str, Any]:
    campaign = campaign_folders.read(path)
    controls = [row for row in campaign.rows if row.purpose == "control"]
    return {
        "headline": f"{campaign.verdict} {campaign.summary}" if campaign.verdict else "",
        "caught": [f"{row.scenario}: {row.subject}" for row in controls if row.caught],
        "missed": [f"{row.scenario}: {row.subject}" for row in controls if not row.caught],
    }


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
        return "campaign", *_runs_of_campaign(path)
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
    runs = [found for found in report_folders.folders(path) if (found / "plan.json").is_file()]
    if runs:
        yield from sorted(runs)
    else:
        yield from sorted(report_folders.run_paths(path))


def _runs_of_campaign(path: pathlib.Path) -> tuple[_Found, list[str]]:
    campaign_folders.require_unchosen(path)
    campaign = campaign_folders.read(path)
    if campaign.seed is None:
        raise errors.UsageError(f"expected a campaign, but of {path} {campaign.problem}")
    failed = [
        f"{result.scenario}, {result.subject}: it could not be executed: "
        + "".join(result.error.strip().splitlines()[-1:]).strip()[:_REASON_MAX]
        for result in campaign.results
        if not (result.directory or result.cut)
    ]
    results = path / campaign_folders.RESULTS
    if results.exists() and files.read_small(results)[-1:] not in (b"", b"\n"):
        failed.append(f"{results}: the last line is cut")
    return [
        (campaign.directory_of(result), result.purpose)
        for result in campaign.results
        if result.directory and not result.cut
    ], failed

"""index.html of a folder of reports: every run and campaign there is, newest first."""

import contextlib
import fcntl
import os
import pathlib
import urllib.parse
from collections.abc import Iterator, Sequence

from harness import writing
from harness.checks import verdicts
from harness.history import campaign_folders, plans, report_folders, run_folders, subject_names
from harness.history.purposes import Purpose
from harness.report import escaping, page_templates, run_facts

NAME = "index.html"
HEADINGS = {purpose.value: purpose.heading for purpose in Purpose if purpose is not Purpose.ASKED}
"""Purposes of runs in the order of the page; each is a part of the table."""
_OF_CAMPAIGN = (
    *(campaign_folders.PLAN, campaign_folders.RESULTS, campaign_folders.DOCUMENT),
    campaign_folders.INDEX,
)
"""The files of a campaign that the index is made of, or links to."""
REASON_MAX = 200
"""Characters of a reason or summary; the run's own page has all."""


_Row = dict[str, str]
"""A run or a campaign, as the columns of its table."""


def write(reports: pathlib.Path) -> pathlib.Path:
    """Write the index again and return its path.

    Of two commands that write it at once, the later one sees all that the earlier one saw. Raises
    StorageError or UnwritableError if it cannot be written.
    """
    path = reports / NAME
    with writing.explained(path), _locked(reports):
        writing.replace(path, page(reports).encode())
    return path


@contextlib.contextmanager
def _locked(reports: pathlib.Path) -> Iterator[None]:
    """Hold a lock of the folder itself; without one where the file system has no locks."""
    folder = os.open(reports, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def page(reports: pathlib.Path, *, served_at: str = "") -> str:
    """Return the index as one self-contained page; the same bytes for the same folder.

    `served_at`: the address below which a server has the folder. Such a page links to pages alone,
    and leaves out what is a link itself, which the server does not follow.
    """
    folder = report_folders.ReportFolder(reports)

    def link(path: pathlib.Path, page: str) -> str:
        return _link(path, page, reports, served_at)

    runs = [
        _run_row(run, link=link(run.path, "report.html"))
        for run in folder.runs()
        if not served_at or _has_no_links(run.path, "plan.json", "verdict.json")
    ]
    runs.sort(key=lambda row: row["started"], reverse=True)
    runs.sort(key=lambda row: list(HEADINGS).index(row["purpose"]))
    subjects = sorted({run["subject"] for run in runs if run["subject"]})
    found = [
        campaign
        for campaign in folder.campaigns()
        if not served_at or _has_no_links(campaign.path, *_OF_CAMPAIGN)
    ]
    campaigns = [
        _campaign_row(item, link=link(item.path, campaign_folders.INDEX)) for item in found
    ]
    return (
        page_templates.templates()
        .get_template("reports.html.j2")
        .render(
            runs=runs,
            headings=HEADINGS,
            counted=verdicts.counted,
            campaigns=campaigns,
            rates=_rates(campaigns, found),
            runs_left_out=folder.runs_left_out,
            campaigns_left_out=folder.campaigns_left_out,
            verdicts=sorted({run["verdict"] for run in runs}),
            subjects=subjects,
            numbers={name: number for number, name in enumerate(subjects)},
            is_served=bool(served_at),
        )
    )


def _rates(rows: Sequence[_Row], campaigns: Sequence[campaign_folders.CampaignFolder]) -> str:
    if not campaigns:
        return ""
    from harness.report import campaign_rates  # pandas: not for the index of single runs

    started = (row["started"] for row in rows)
    return campaign_rates.section(zip(started, campaigns, strict=True))


def _run_row(run: run_folders.RunFolder, *, link: str) -> _Row:
    plan, verdict = run.plan, run.verdict
    purpose = plan.purpose if plan else Purpose.SUBJECT
    look, expected = _expected(purpose, plan, verdict.verdict if verdict else None)
    return _Row(
        verdict=verdict.verdict if verdict else run.state,
        look=look,
        purpose=purpose,
        expected=expected,
        started=run_facts.date(plan.created_wall_ns) if plan else _started(run.path),
        scenario=plan.scenario if plan else run.path.parent.name,
        subject=subject_names.of_plan(plan) if plan else "",
        cluster=str(plan.cluster_profile.get("name") or plan.cluster) if plan else "",
        reason=_shortened(verdict.reason if verdict else run.problem),
        link=link,
    )


def _expected(
    purpose: Purpose, plan: plans.Plan | None, verdict: verdicts.Verdict | None
) -> tuple[str, str]:
    """Return the verdict whose colour a run has, and what it should have been; empty: no verdict.

    A control that was caught is as good as a VALID run.
    """
    is_hazard, wanted = purpose is Purpose.HAZARD, purpose.expected
    name = f"{wanted} ({plan.hypothesis})" if plan and is_hazard else str(wanted)
    if verdict is None:
        return verdicts.Verdict.UNKNOWN, ""
    if plan and is_hazard and not plan.subject.startswith(subject_names.PYTHON):
        return _asked(plan.hypothesis, verdict)
    if not purpose.must_fail:
        return verdict, f"✓ {name}" if verdict is wanted else f"✗ {name}"
    if verdict is wanted:
        return verdicts.Verdict.VALID, f"✓ {name}, {purpose.found}"
    return verdicts.Verdict.UNKNOWN, f"✗ {name}, not {purpose.found}"


def _asked(hazard: str, verdict: verdicts.Verdict) -> tuple[str, str]:
    """Return the same of a program of others, which may have a hazard of Kubernetes or not."""
    if verdict is verdicts.Verdict.UNKNOWN:
        return verdict, ""
    shown = "shown" if verdict is verdicts.Verdict.INVALID else "not shown"
    return verdicts.Verdict.VALID, f"✓ {hazard}, {shown}"


def _campaign_row(campaign: campaign_folders.CampaignFolder, *, link: str) -> _Row:
    ended = [result.verdict or "ERROR" for result in campaign.results]
    counts = ", ".join(f"{ended.count(name)} {name}" for name in sorted({*ended}))
    return _Row(
        verdict=campaign.verdict,
        started=_started(campaign.path),
        runs=f"{len(ended)} of {campaign.planned}" if campaign.problem else str(len(ended)),
        seed=str(campaign.seed or ""),
        cluster=campaign.cluster,
        summary=_shortened(campaign.problem or campaign.summary or counts),
        link=link,
    )


def _started(path: pathlib.Path) -> str:
    """Return the time in a folder's name, `20260131T235959Z-…`; empty if it has none."""
    text = path.name.partition("-")[0]
    if len(text) != 16 or not (text[:8] + text[9:15]).isdigit():
        return ""
    return f"{text[:4]}-{text[4:6]}-{text[6:11]}:{text[11:13]}:{text[13:]}"


def _shortened(text: str) -> str:
    return escaping.shortened(" ".join(text.split()), REASON_MAX)


def _link(folder: pathlib.Path, page: str, reports: pathlib.Path, served_at: str) -> str:
    is_there = (folder / page).is_file()
    if served_at and not is_there:
        return ""
    path = folder / page if is_there else folder
    return served_at + urllib.parse.quote(os.fsencode(os.path.relpath(path, reports)))


def _has_no_links(folder: pathlib.Path, *names: str) -> bool:
    return not any((folder / name).is_symlink() for name in names)

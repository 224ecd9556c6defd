"""Facts of a run: its subject with versions, its date, its files, and a link to its campaign."""

import os
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from harness import clocks
from harness.checks import verdict_files, verdicts
from harness.history import directories, histories, plans, run_folders, subject_names

FILES_MAX = 200
"""Files that are linked; more are counted."""
NOT_NEEDED = "not needed"
"""The answer to a question that the verdict does not depend on."""
WHY_NOT_NEEDED = "a violation ended the run, as planned"
_ABOUT = {
    "scenario.toml": "the scenario, verbatim",
    "plan.json": "seed and options of the run",
    "cluster.json": "the cluster that ran, with its versions",
    "processes.jsonl": "starts, ends and phases",
    "faults.jsonl": "faults that took effect",
    "manifest.json": "the files of the run with their digests",
    "verdict.json": "the verdict for programs",
    "junit.xml": "the verdict for CI systems",
    "trace.json": "timeline for ui.perfetto.dev",
    "trace.json.gz": "timeline for ui.perfetto.dev",
}
_ABOUT_BEGINNINGS = {
    "observations": "every commit, as the watch delivered it",
    "operations-": "API calls of a process",
    "preparations-": "claims that were prepared and unprepared on nodes",
    "pool-changes-": "changes of device pools",
    "steps-": "named steps of the subject",
    "audit": "the API server's audit log",
    "logs": "output of a process",
}


class Link(NamedTuple):
    """A file of the run."""

    name: str
    """Its path within the run directory."""
    href: str
    about: str
    """Its content as text; empty if it is not known."""


class RunFacts(NamedTuple):
    """The facts at the head and at the end of a page."""

    subject: str
    purpose: str
    """Why the run is expected to be INVALID, in a sentence; empty: it is not."""
    date: str
    """The time at which the run was planned, in UTC."""
    cluster: str
    """The provider, with its version of Kubernetes if it is known."""
    versions: Mapping[str, str]
    campaign: str
    """Link to the page of its campaign; empty: the run is of none."""
    files: Sequence[Link]
    files_left_out: int


def collect(history: histories.History) -> RunFacts:
    plan, directory = history.plan, history.directory
    of_cluster = run_folders.cluster_versions(directory.path)
    found, campaign = list(links(directory)), urllib.parse.quote(plan.campaign)
    return RunFacts(
        subject=subject_names.of_plan(plan),
        purpose=purpose(plan),
        date=date(plan.created_wall_ns) or "unknown",
        cluster=", ".join(filter(None, (plan.cluster, _kubernetes(of_cluster)))),
        versions={**of_cluster, **plan.versions},
        campaign=f"../../campaigns/{campaign}/index.html" if campaign else "",
        files=found[:FILES_MAX],
        files_left_out=max(len(found) - FILES_MAX, 0),
    )


def purpose(plan: plans.Plan) -> str:
    """Return why a run is expected to be INVALID; empty: it is not."""
    if plan.defects:
        return f"{', '.join(plan.defects)} was switched on, to see whether the checks find it."
    if not plan.known_to_fail or plan.remedies:
        return ""
    from harness.scenario import hazards  # 0.3 s: reads documents and loads scenarios

    if hazards.fails_correct_subject(plan.known_to_fail):
        known = hazards.find(plan.known_to_fail)
        title = f" ({known.hazard.title})" if known else ""
        return f"The scenario is known to fail without a remedy: {plan.known_to_fail}{title}."
    return ""


def gaps(judgement: verdict_files.Judgement) -> Iterator[str]:
    """Yield what is needed and not certified, and the checks that leave a run UNKNOWN."""
    for item in judgement.certificate:
        if item.needed and not item.ok:
            yield f"not certified: {item.question} {item.reason}"
    for check in judgement.checks:
        if judgement.verdict is check.verdict is verdicts.Verdict.UNKNOWN:
            yield f"no answer: {check.check}: {check.reason.removeprefix(f'{check.check}: ')}"


def date(created_wall_ns: int) -> str:
    """Return a time in UTC; empty if no calendar has it."""
    try:
        return clocks.wall_text(created_wall_ns)
    except (ValueError, OverflowError, OSError):
        return ""


def _kubernetes(of_cluster: Mapping[str, str]) -> str:
    for name, version in of_cluster.items():
        if "apiserver" in name or name.lower() in ("kubernetes", "server"):
            return version if name in version else f"{name} {version}"
    return ""


def links(directory: directories.RunDirectory) -> Iterator[Link]:
    """Yield the files of the run; those that judging writes are named, whether they exist yet."""
    evidence = [directory.scenario, directory.plan, directory.cluster, directory.manifest]
    written = [path for path in evidence if os.path.lexists(path)]
    logs = [path for path in directory.logs.glob("*") if os.path.isfile(path)]  # noqa: PTH113 - never raises
    written += [*directory.journals(), *directory.audit_logs(), *logs]
    for path in [directory.verdict, directory.junit, *sorted(written)]:
        yield link(path.relative_to(directory.path).as_posix())


def link(name: str) -> Link:
    """Return the link to a file, by its path within the run directory."""
    beginnings = (text for begin, text in _ABOUT_BEGINNINGS.items() if name.startswith(begin))
    return Link(name, urllib.parse.quote(name), _ABOUT.get(name) or next(beginnings, ""))

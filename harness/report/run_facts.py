"""Facts of a run: its subject with versions, its date, and links to its files and campaign."""

import dataclasses
import os
import pathlib
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from harness import clocks, errors
from harness.checks import verdict_files
from harness.checks.certificate import certificate_items
from harness.history import directories, files, histories, plans, subject_names
from harness.scenario import hazards

FILES_MAX = 200
"""Files that are linked; more are counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A file of the run."""

    name: str
    """Its path within the run directory."""
    href: str
    about: str
    """Its content as text; empty if it is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunFacts:
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
    """Return the facts of a run."""
    plan, directory = history.plan, history.directory
    of_cluster = cluster_versions(directory)
    links = list(_links(directory))
    return RunFacts(
        subject=subject_names.of_plan(plan),
        purpose=purpose(plan),
        date=date(plan),
        cluster=_cluster(plan, of_cluster),
        versions={**of_cluster, **plan.versions},
        campaign=_campaign(plan),
        files=links[:FILES_MAX],
        files_left_out=max(len(links) - FILES_MAX, 0),
    )


def purpose(plan: plans.Plan) -> str:
    """Return why a run is expected to be INVALID; empty: it is not."""
    if plan.defects:
        return f"{', '.join(plan.defects)} was switched on, to see whether the checks find it."
    if hazards.fails_correct_subject(plan.known_to_fail) and not plan.remedies:
        known = hazards.find(plan.known_to_fail)
        title = f" ({known.hazard.title})" if known else ""
        return f"The scenario is known to fail without a remedy: {plan.known_to_fail}{title}."
    return ""


def date(plan: plans.Plan) -> str:
    """Return the time at which a run was planned, in UTC; `unknown` if no calendar has it."""
    try:
        return clocks.wall_text(plan.created_wall_ns)
    except (ValueError, OverflowError, OSError):
        return "unknown"


def cluster_versions(directory: directories.RunDirectory) -> dict[str, str]:
    """Return component -> version as detected on the cluster; empty if that is not recorded."""
    try:
        content = files.read_small(directory.cluster)
        return msgspec.json.decode(content, type=_ClusterFile).versions
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


class _ClusterFile(msgspec.Struct):
    versions: dict[str, str] = {}


def _cluster(plan: plans.Plan, of_cluster: Mapping[str, str]) -> str:
    known = _kubernetes(of_cluster)
    return f"{plan.cluster}, {known}" if known else plan.cluster


def _kubernetes(of_cluster: Mapping[str, str]) -> str:
    """Return the version of the API server as text; empty if it is not known."""
    for name, version in of_cluster.items():
        if "apiserver" in name or name.lower() in ("kubernetes", "server"):
            return version if name in version else f"{name} {version}"
    return ""


def _campaign(plan: plans.Plan) -> str:
    """Return the page of the campaign, from a run directory `reports/<scenario>/<run>`."""
    name = plan.campaign
    return f"../../campaigns/{urllib.parse.quote(name)}/index.html" if name else ""


_ABOUT = {
    "scenario.toml": "the scenario, verbatim",
    "plan.json": "seed and options of the run",
    "cluster.json": "the cluster that ran, with its versions",
    "processes.jsonl": "starts, ends and phases",
    "faults.jsonl": "faults that took effect",
    "manifest.json": "the files of the run with their digests",
    "verdict.json": "the verdict for programs",
    "junit.xml": "the verdict for CI systems",
    "summary.md": "the verdict for a pull request",
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


def _links(directory: directories.RunDirectory) -> Iterator[Link]:
    """Yield the files of the run; those that judging writes are named, whether they exist yet."""
    evidence = [directory.scenario, directory.plan, directory.cluster, directory.manifest]
    written = [path for path in evidence if os.path.lexists(path)]
    written += [*directory.journals(), *directory.audit_logs(), *_logs(directory)]
    for path in [directory.verdict, directory.junit, directory.summary, *sorted(written)]:
        name = path.relative_to(directory.path).as_posix()
        yield Link(name, urllib.parse.quote(name), _about(name))


def trace_link(path: pathlib.Path) -> Link:
    """Return the link to the trace, which is written beside the page."""
    return Link(path.name, urllib.parse.quote(path.name), _about(path.name))


def _logs(directory: directories.RunDirectory) -> list[pathlib.Path]:
    return [path for path in directory.logs.glob("*") if os.path.isfile(path)]  # noqa: PTH113 - never raises


def _about(name: str) -> str:
    if name in _ABOUT:
        return _ABOUT[name]
    for beginning, about in _ABOUT_BEGINNINGS.items():
        if name.startswith(beginning):
            return about
    return ""


NOT_NEEDED = "not needed"
"""The answer to a question that the verdict does not depend on."""
WHY_NOT_NEEDED = "a violation ended the run, as planned"


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question of the certificate."""

    question: str
    kind: str
    """Class of its style: `yes`, `no` or `soft`."""
    text: str
    reason: str


def certificate(judgement: verdict_files.Judgement) -> list[Answer]:
    """Return the answers; an item that the verdict did not need is neither yes nor no."""
    return [_answer(item) for item in judgement.certificate]


def _answer(item: certificate_items.Item) -> Answer:
    if item.ok:
        return Answer(item.question, "yes", "✓ yes", item.reason)
    if item.needed:
        return Answer(item.question, "no", "✗ no", item.reason)
    return Answer(item.question, "soft", NOT_NEEDED, f"{WHY_NOT_NEEDED} ({item.reason})")

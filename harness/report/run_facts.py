"""Facts of a run: its subject with versions, its date, and a link to its campaign."""

import dataclasses
import urllib.parse
from collections.abc import Mapping, Sequence

import msgspec

from harness import clocks, errors
from harness.checks import verdict_files
from harness.checks.certificate import certificate_items
from harness.history import directories, files, histories, plans, subject_names
from harness.report import run_files
from harness.scenario import hazards


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
    files: Sequence[run_files.Link]
    files_left_out: int


def collect(history: histories.History) -> RunFacts:
    """Return the facts of a run."""
    plan, directory = history.plan, history.directory
    of_cluster = cluster_versions(directory)
    links = list(run_files.links(directory))
    return RunFacts(
        subject=subject_names.of_plan(plan),
        purpose=purpose(plan),
        date=date(plan),
        cluster=_cluster(plan, of_cluster),
        versions={**of_cluster, **plan.versions},
        campaign=_campaign(plan),
        files=links[: run_files.FILES_MAX],
        files_left_out=max(len(links) - run_files.FILES_MAX, 0),
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

"""Summarizes a run directory by its plan.json and verdict.json; damaged ones are marked."""

import enum
import hashlib
import os
import pathlib
from typing import Any

import msgspec

from harness import errors
from harness.history import campaign_folders, directories, files, plans
from harness.model import answers

OLDEST_SCHEMA = 4
"""Oldest schema of verdict.json whose figures are as they are today."""


class State(enum.StrEnum):
    """How far a run came."""

    JUDGED = "judged"
    UNJUDGED = "not judged"
    """It ended, but has no verdict."""
    UNFINISHED = "not finished"
    """It is under way, or was interrupted."""
    DAMAGED = "damaged"
    """plan.json or verdict.json cannot be used."""


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Quantiles of a duration, in milliseconds; None if nothing was measured."""

    p50_ms: float | None = None
    p90_ms: float | None = None
    p99_ms: float | None = None


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The part that summaries need of the figures in verdict.json (`run_figures.Figures`)."""

    claims: int
    double_allocations: int
    stuck: int
    violations: int
    seconds: float | None = None
    allocations_per_s: float | None = None
    claim_to_allocation: Latency = Latency()
    pod_to_running: Latency = Latency()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The part that summaries need of a check's result (`verdicts.CheckResult`)."""

    check: str
    violation_count: int


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """The part that summaries need of a threshold's answer (`threshold_results.Result`)."""

    metric: str
    verdict: answers.Verdict
    reason: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The part that summaries need of verdict.json (`verdict_files.Judgement`)."""

    run_id: str
    verdict: answers.Verdict
    reason: str
    figures: Figures
    evidence: dict[str, str]
    checks: list[Check] = []
    unexamined: list[str] = []
    thresholds: list[Threshold] = []
    campaign_figures: dict[str, float | None] = {}
    judges: dict[str, str] = {}
    """Version of Flake Hunt, and digest of its checks; empty in verdicts of older versions."""

    @property
    def violations(self) -> int:
        return max(self.figures.violations, sum(item.violation_count for item in self.checks))

    @property
    def missed_thresholds(self) -> list[str]:
        return [
            f"threshold {item.metric}: {item.reason}"
            for item in self.thresholds
            if item.verdict is answers.Verdict.INVALID
        ]

    @property
    def is_violated(self) -> bool:
        """True if it is INVALID, and not only because of thresholds."""
        is_invalid = self.verdict is answers.Verdict.INVALID
        return is_invalid and bool(self.violations or not self.missed_thresholds)

    @property
    def of_result(self) -> dict[str, Any]:
        """The words of a `results.RunResult` of a run with this verdict, without its reason."""
        found = self.figures
        return {
            "verdict": self.verdict,
            "claims": found.claims,
            "double_allocations": found.double_allocations,
            "stuck": found.stuck,
            "others": found.violations - found.double_allocations - found.stuck,
            "consumed_twice": self.violations_of("device_consumption"),
            "unexamined": [told.partition(" ")[0] for told in self.unexamined],
            "thresholds": self.missed_thresholds,
            "figures": self.campaign_figures,
            "by_one_scheduler": self.violations_of("scheduler_exclusivity"),
        }

    def violations_of(self, check: str) -> int:
        return sum(item.violation_count for item in self.checks if item.check == check)


class RunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """One run directory."""

    path: pathlib.Path
    state: State
    problem: str = ""
    """Why it is not judged, as a sentence; empty: it is."""
    plan: plans.Plan | None = None
    """None if plan.json cannot be used."""
    verdict: Verdict | None = None
    """None unless it is judged."""


class _ClusterRecord(msgspec.Struct):
    versions: dict[str, str] = {}


def read(path: pathlib.Path) -> RunFolder:
    """Return the summary of a run directory.

    Raises RunDirectoryError if it is not one.
    """
    directory = directories.existing(path)
    try:
        content = files.read_small(directory.plan)
        plan = plans.decoded(content)
    except errors.HistoryError as error:
        return RunFolder(path=path, state=State.DAMAGED, problem=f"plan.json is damaged ({error})")
    if not os.path.lexists(directory.verdict):
        return _without_verdict(directory, plan)
    try:
        verdict = verdict_of(files.read_small(directory.verdict), plan, content)
    except errors.HistoryError as error:
        return RunFolder(
            path=path, state=State.DAMAGED, plan=plan, problem=f"verdict.json is damaged ({error})"
        )
    return RunFolder(path=path, state=State.JUDGED, plan=plan, verdict=verdict)


def cluster_versions(path: pathlib.Path) -> dict[str, str]:
    """Return the versions of the cluster's components; empty if the run recorded none."""
    try:
        content = files.read_small(directories.RunDirectory(path).cluster)
        return files.decoded(content, _ClusterRecord).versions
    except errors.HistoryError:
        return {}


def _without_verdict(directory: directories.RunDirectory, plan: plans.Plan) -> RunFolder:
    state, problem = State.UNFINISHED, "it is under way, or was interrupted"
    if os.path.lexists(directory.manifest):
        state, problem = State.UNJUDGED, "it ended, but has no verdict.json"
    if cut := _cut(directory, plan):
        state, problem = State.UNJUDGED, f"it was {cut}"
    return RunFolder(path=directory.path, state=state, plan=plan, problem=problem)


def _cut(directory: directories.RunDirectory, plan: plans.Plan) -> str:
    """Return why the campaign of a run without a verdict cut it; empty: it has none, or did not."""
    folder = directory.path.parent.parent / campaign_folders.FOLDER / plan.campaign
    if not plan.campaign or not os.path.lexists(folder / campaign_folders.DOCUMENT):
        return ""
    return next((one.reason for one in campaign_folders.read(folder).results if one.cut), "")


def verdict_of(document: bytes, plan: plans.Plan, content: bytes) -> Verdict:
    """Return the verdict in the bytes of verdict.json; `content` are those of plan.json.

    Raises HistoryError if it is damaged, contradicts itself, has another schema, or is about
    another run or plan.
    """
    schemas = range(OLDEST_SCHEMA, answers.SCHEMA_VERSION + 1)
    verdict = files.decoded(document, Verdict, schemas=schemas)
    if verdict.run_id != plan.run_id:
        raise errors.HistoryError(
            f"it is about run {verdict.run_id!r:.60}, not {plan.run_id!r:.60}"
        )
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if verdict.evidence.get("plan.json") != digest:
        raise errors.HistoryError("it is about another plan.json")
    if verdict.verdict is answers.Verdict.VALID and verdict.missed_thresholds:
        raise errors.HistoryError("it says VALID, and has thresholds that are not met")
    if verdict.verdict is answers.Verdict.VALID and verdict.violations:
        raise errors.HistoryError(f"it says VALID, and has {verdict.violations} violations")
    return verdict

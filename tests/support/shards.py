"""Plans of campaigns over machines, and the folders of their shards, without a run."""

import hashlib
import json
import pathlib
from collections.abc import Sequence
from typing import Any

import msgspec

from harness.campaign import campaign_plan
from harness.campaign.sharding import shard_folders, sharded_plans
from harness.checks import verdicts
from harness.history import campaign_folders, results
from harness.history.purposes import Purpose
from harness.run import run_plan
from harness.scenario import profiles
from harness.seeds import Seeds
from tests.histories import building

SCENARIO = "pod-churn"
DEFECT = "gather-not-atomic"
VALID, UNKNOWN, INVALID = verdicts.Verdict


def campaign(
    *, subjects: int, controls: int, reports: str = "none", thresholds: Sequence[str] = ()
) -> campaign_plan.CampaignPlan:
    """A campaign with runs of the correct subject and of one control."""
    kinds = [(Purpose.SUBJECT, [], number) for number in range(subjects)]
    kinds += [(Purpose.CONTROL, [DEFECT], number) for number in range(controls)]
    runs = [
        campaign_plan.PlannedRun(
            number=number,
            scenario=SCENARIO,
            title=SCENARIO,
            purpose=purpose,
            defects=defects,
            thresholds=list(thresholds),
            repetition=repetition,
            seed=1000 + number,
        )
        for number, (purpose, defects, repetition) in enumerate(kinds, start=1)
    ]
    return campaign_plan.CampaignPlan(
        seed=7,
        reports=reports,
        cluster=profiles.load("embedded").model_dump(mode="json"),
        versions=run_plan.versions(),
        again=["hunt", SCENARIO, "--seed", "7"],
        runs=runs,
    )


def plan(
    *,
    subjects: int = 5,
    controls: int = 1,
    shards: int = 3,
    thresholds: Sequence[str] = (),
) -> sharded_plans.ShardedPlan:
    """The plan of such a campaign."""
    made = campaign(subjects=subjects, controls=controls, thresholds=thresholds)
    return sharded_plans.make(made, shards=shards)


def result(run: campaign_plan.PlannedRun, **changes: Any) -> results.RunResult:
    """The result that a run should have: the subject is VALID, the control is caught."""
    is_control = run.purpose is Purpose.CONTROL
    made = results.RunResult(
        number=run.number,
        scenario=run.title,
        subject=run.subject,
        purpose=run.purpose,
        hypothesis=run.hypothesis,
        shows_otherwise=run.shows_otherwise,
        seconds=float(run.number),
        verdict=INVALID if is_control else VALID,
        reason=f"run {run.number}",
        claims=run.number,
        figures={"claims": run.number} if run.thresholds else {},
        double_allocations=int(is_control),
    )
    return msgspec.structs.replace(made, **changes)


def violated(run: campaign_plan.PlannedRun, **changes: Any) -> results.RunResult:
    return result(run, verdict=INVALID, double_allocations=1, **changes)


def missed(run: campaign_plan.PlannedRun, attempts: int = 3) -> list[results.RunResult]:
    """Attempts of a control that did not catch it."""
    return [
        result(run, verdict=VALID, double_allocations=0, attempt=number)
        for number in range(attempts)
    ]


def evidence(
    reports: pathlib.Path, run: campaign_plan.PlannedRun, made: results.RunResult
) -> results.RunResult:
    """Write the run directory of a result, and return the result with it."""
    folder = reports / made.scenario / f"run-{run.number}-{made.attempt}-{made.verdict}"
    folder.mkdir(parents=True, exist_ok=True)
    seed = Seeds(run.seed).derive(made.attempt) if made.attempt else run.seed
    plan = msgspec.structs.replace(
        building.plan(run_id=folder.name, scenario=run.title, remedies=run.remedies, settings={}),
        seed=seed,
        defects=run.defects,
        until_found=run.purpose.must_fail,
    )
    content = msgspec.json.encode(plan)
    (folder / "plan.json").write_bytes(content)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    (folder / "verdict.json").write_text(json.dumps(_verdict(folder.name, made, digest)))
    return msgspec.structs.replace(made, directory=str(folder))


def _verdict(run_id: str, made: results.RunResult, digest: str) -> dict[str, Any]:
    counts = {"double_allocations": made.double_allocations, "stuck": made.stuck}
    return {
        "schema": verdicts.SCHEMA_VERSION,
        "run_id": run_id,
        "verdict": made.verdict,
        "reason": made.reason,
        "figures": {
            "claims": made.claims, "violations": sum(counts.values()) + made.others, **counts
        },
        "campaign_figures": made.figures,
        "evidence": {"plan.json": digest},
    }  # fmt: skip


def outcomes(plan: campaign_plan.CampaignPlan) -> dict[int, list[results.RunResult]]:
    """Number of a run -> its attempts, of four subjects and three controls that end differently."""
    first, second, third, fourth, caught, late, lost = plan.runs
    return {
        1: [result(first)],
        2: [violated(second)],
        3: [result(third, verdict=UNKNOWN, reason="a < b & \x00")],
        4: [result(fourth, verdict=None, error="no engine")],
        5: [result(caught)],
        6: [*missed(late, 1), result(late, attempt=1)],
        7: missed(lost),
    }


def started(
    plan: sharded_plans.ShardedPlan, number: int, reports: pathlib.Path
) -> tuple[pathlib.Path, campaign_plan.CampaignPlan]:
    with shard_folders.started(plan, number, reports=reports, jobs=1) as (path, made, _):
        return path, made


def folder(
    reports: pathlib.Path,
    plan: sharded_plans.ShardedPlan,
    number: int,
    found: Sequence[results.RunResult] | None = None,
) -> pathlib.Path:
    """The folder of a shard (0: all) with these results; None: those that its runs should have.

    Results without a run directory get one, unless they are errors.
    """
    path, _ = started(plan, number, reports)
    done = [result(run) for run in plan.runs_of(number)] if found is None else found
    runs = {run.number: run for run in plan.runs}
    whole = [
        item if item.directory or item.error else evidence(reports, runs[item.number], item)
        for item in done
    ]
    (path / campaign_folders.RESULTS).write_bytes(results.encode(whole))
    return path


def every_folder(root: pathlib.Path, plan: sharded_plans.ShardedPlan) -> list[str]:
    """The folders of all shards, each with reports of its own."""
    return [str(folder(root / f"r{n}", plan, n)) for n in range(1, plan.shards + 1)]

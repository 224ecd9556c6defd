"""A machine with another version of a scheduler does not make the plan's runs."""

import pathlib

import msgspec
import pytest

from harness import errors
from harness.campaign import campaign_plan
from harness.campaign.sharding import shard_folders


def campaign(tmp_path: pathlib.Path, *subjects: str) -> campaign_plan.CampaignPlan:
    return campaign_plan.plan(
        ["pod-churn"], seed=1, repeat=2, repeat_controls=1, reports=tmp_path, subjects=subjects
    )


@pytest.mark.parametrize("subjects", [[], ["external=volcano"]])
def test_the_same_schedulers_are_accepted(tmp_path: pathlib.Path, subjects: list[str]) -> None:
    shard_folders.require_same_subjects(campaign(tmp_path, *subjects))


def test_another_version_is_refused_before_the_first_run(tmp_path: pathlib.Path) -> None:
    plan = campaign(tmp_path, "external=volcano")
    runs = [
        msgspec.structs.replace(run, tested="kube-scheduler v1.36.2") if run.tested else run
        for run in plan.runs
    ]
    with pytest.raises(
        errors.UsageError, match=r"expected kube-scheduler v1\.36\.2 on this machine"
    ):
        shard_folders.require_same_subjects(msgspec.structs.replace(plan, runs=runs))

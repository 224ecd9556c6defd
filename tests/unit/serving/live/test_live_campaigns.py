"""Campaigns while they go on: results, controls, the runs under way, and how they end."""

import json
import os
import pathlib
from typing import Any

import msgspec
import pytest

from harness import clocks, errors
from harness.campaign import campaign_plan
from harness.history import purposes, results
from harness.serving.live import live_campaigns, snapshots
from tests.histories import building

CAMPAIGN = "20261123T060000Z-7"


def planned(number: int, purpose: purposes.Purpose, *defects: str) -> campaign_plan.PlannedRun:
    return campaign_plan.PlannedRun(
        number=number,
        scenario="churn",
        title="churn",
        purpose=purpose,
        defects=list(defects),
        repetition=0,
        seed=number,
    )


def result(run: campaign_plan.PlannedRun, verdict: str, **fields: Any) -> bytes:
    document = {
        "number": run.number,
        "scenario": run.title,
        "subject": run.subject,
        "purpose": run.purpose,
        "seconds": 1.0,
        "verdict": verdict,
        **fields,
    }
    return msgspec.json.encode(msgspec.convert(document, results.RunResult)) + b"\n"


SUBJECT = planned(1, purposes.Purpose.SUBJECT)
CONTROL = planned(2, purposes.Purpose.CONTROL, "gather-not-atomic")
HAZARD = planned(3, purposes.Purpose.HAZARD)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A campaign of three runs that this process makes."""
    made = tmp_path / "campaigns" / CAMPAIGN
    made.mkdir(parents=True)
    plan = campaign_plan.CampaignPlan(
        seed=7,
        reports=str(tmp_path),
        cluster={},
        pid=os.getpid(),
        boot_id=clocks.boot_id(),
        runs=[SUBJECT, CONTROL, HAZARD],
    )
    campaign_plan.write(made / "campaign.json", plan)
    return made


def under_way(reports: pathlib.Path, name: str, campaign: str) -> pathlib.Path:
    made = building.build(
        reports / "churn" / name,
        "a+D1 b+D1",
        scenario="churn",
        run_id=name,
        changes={"campaign": campaign, "pid": os.getpid(), "boot_id": clocks.boot_id()},
    )
    return made.path


def state_of(live: live_campaigns.LiveCampaign) -> snapshots.Campaign:
    assert live.read(at_most_s=30.0)
    return live.snapshot()


def test_results_come_one_by_one_and_a_torn_one_waits(folder: pathlib.Path) -> None:
    live = live_campaigns.LiveCampaign(folder)
    found = state_of(live)
    assert (found.state, found.planned, found.done) == ("starting", 3, 0)
    assert (found.controls_planned, found.hazards_planned) == (1, 1)
    lines = [
        result(CONTROL, "VALID", attempt=0),
        result(CONTROL, "INVALID", attempt=1, double_allocations=3),
        result(SUBJECT, "VALID"),
        result(HAZARD, "VALID", attempt=0),
    ]
    seen = []
    with (folder / "results.jsonl").open("ab", buffering=0) as file:
        for line in lines:
            file.write(line[:9])
            before = state_of(live)
            file.write(line[9:])
            after = state_of(live)
            assert sum(after.by_verdict.values()) == sum(before.by_verdict.values()) + 1
            seen.append((after.done, after.controls_caught, after.hazards_shown))
    assert seen == [(0, 0, 0), (1, 1, 0), (2, 1, 0), (2, 1, 0)]
    assert after.by_verdict == {"VALID": 3, "INVALID": 1}
    (control,) = [row for row in after.rows if row.purpose == "control"]
    assert (control.planned, control.runs, control.found) == (1, 2, 1)
    assert control.double_allocations == 3


def test_the_runs_under_way_are_those_of_the_campaign(folder: pathlib.Path) -> None:
    reports = folder.parent.parent
    live = live_campaigns.LiveCampaign(folder)
    mine = under_way(reports, "20261123T060100Z-aa", CAMPAIGN)
    under_way(reports, "20261123T060100Z-bb", "another")
    under_way(reports, "20251123T060100Z-cc", CAMPAIGN)  # older than the campaign: none of it
    (reports / "churn" / "20261123T060200Z-dd").mkdir()  # its plan comes later
    (running,) = state_of(live).running
    assert running.directory == str(mine)
    assert running.double_allocations == 1
    line = result(SUBJECT, "INVALID", directory=str(mine), double_allocations=1)
    (folder / "results.jsonl").write_bytes(line)
    assert state_of(live).running == []
    live.close()


def test_it_ends_with_the_verdict_of_its_document(folder: pathlib.Path) -> None:
    live = live_campaigns.LiveCampaign(folder)
    document = {"verdict": "INVALID", "summary": "1 double allocation", "exit_code": 10}
    (folder / "results.json").write_text(json.dumps(document))
    found = state_of(live)
    assert (found.state, found.verdict, found.reason) == (
        *("ended", "INVALID"),
        "1 double allocation",
    )


def test_one_that_was_killed_is_gone(folder: pathlib.Path) -> None:
    plan = campaign_plan.read(folder / "campaign.json")
    plan = msgspec.structs.replace(plan, pid=2**22 + 1)
    campaign_plan.write(folder / "campaign.json", plan)
    os.utime(folder / "campaign.json", times=(1.0, 1.0))
    found = state_of(live_campaigns.LiveCampaign(folder))
    assert found.state == "gone"
    assert found.problem.startswith("the process that made the campaign is gone")


def test_damaged_results_are_told(folder: pathlib.Path) -> None:
    (folder / "results.jsonl").write_bytes(result(SUBJECT, "VALID") + b"nonsense\n")
    found = state_of(live_campaigns.LiveCampaign(folder))
    assert found.problem.startswith("it is damaged (results.jsonl: ")


def test_a_plan_that_cannot_be_read_is_an_error(folder: pathlib.Path) -> None:
    (folder / "campaign.json").write_text("{}")
    with pytest.raises(errors.HistoryError, match="expected the plan of a campaign"):
        live_campaigns.LiveCampaign(folder)

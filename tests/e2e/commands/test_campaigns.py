"""Campaigns: a control that is missed, an interruption; `test_documents` has one without them."""

import json
import os
import pathlib
import signal
from typing import Any

import pytest

from tests.e2e import running

pytestmark = pytest.mark.e2e


def test_a_control_that_is_missed_makes_everything_unknown(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One user alone cannot race, so nothing is found, and nothing is proved by it."""
    scenario = running.scenario(tmp_path)
    text = scenario.read_text().replace("users = 16", "users = 1")
    scenario.write_text(text.replace("duration_max_s = 30.0", "duration_max_s = 0.1"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, output = running.run(tmp_path, "hunt", str(scenario), "--repeat", "0")
    assert code == 20, output
    assert "small, gather-not-atomic: attempt 1 of 3, trying again" in output
    assert (output.count("NOT CAUGHT "), output.count("trying again")) == (3, 2)
    assert "::error title=control not caught%3A small%2C gather-not-atomic::" in output
    (junit,) = tmp_path.glob("reports/campaigns/*/junit.xml")
    assert 'failures="1"' in junit.read_text()
    assert "0 of 1 controls caught" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("budget", [(), ("--minutes", "5")], ids=["whole", "budget"])
def test_an_interrupted_campaign_leaves_nothing(
    tmp_path: pathlib.Path, number: signal.Signals, budget: tuple[str, ...]
) -> None:
    """One with a budget writes what it has."""
    arguments = ("hunt", str(running.scenario(tmp_path)), "--jobs", "2", *budget)
    with running.started(tmp_path, *arguments) as command:
        command.wait_for_other("main part scheduler")
        os.killpg(command.process.pid, number)
        assert command.wait() == 130
        assert "interrupted" in command.text()
        assert "Traceback" not in command.text()
        command.require_alone()
    assert not budget or _ended(tmp_path / "reports")["verdict"] == "UNKNOWN"


def _ended(reports: pathlib.Path) -> dict[str, Any]:
    assert (reports / "index.html").is_file()
    (folder,) = reports.glob("campaigns/*")
    for name in ("index.html", "summary.md", "junit.xml"):
        assert (folder / name).is_file()
    document: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return document


def test_a_budget_cuts_the_first_run_too(tmp_path: pathlib.Path) -> None:
    path = running.scenario(tmp_path)
    text = path.read_text().replace("duration_max_s = 30.0", "duration_max_s = 600.0")
    # Pods that stay: a full load for 12 s would prove no more.
    path.write_text(text.replace("duration_s = 0.3", "duration_s = 300.0\nhold_s = 2.0"))
    options = ("--minutes", "0.2", "--repeat-controls", "0", "--jobs", "1")
    code, output = running.run(tmp_path, "hunt", str(path), *options)
    document = _ended(tmp_path / "reports")
    assert (code, document["verdict"]) == (20, "UNKNOWN"), output
    assert "ended before 1 of 1 kind of runs had one" in document["summary"]
    assert "CUT " in output
    (junit,) = tmp_path.glob("reports/campaigns/*/junit.xml")
    assert 'errors="0"' in junit.read_text(), "an interrupted worker is no crash"
    assert "<skipped" in junit.read_text()


def test_the_first_failure_ends_the_others_and_is_made_again(tmp_path: pathlib.Path) -> None:
    """One user alone proves nothing; a run of minutes is under way beside it, and is cut."""
    long, text = running.scenario(tmp_path), running.scenario(tmp_path).read_text()
    alone = text.replace('name = "small"', 'name = "alone"').replace("users = 16", "users = 1")
    long.with_name("alone.toml").write_text(alone)
    long.write_text(text.replace("duration_s = 0.3", "duration_s = 300.0\nhold_s = 2.0"))
    options = ("--repeat-controls", "0", "--repeat", "1", "--jobs", "2", "-x")
    code, output = running.run(tmp_path, "hunt", str(long), "alone.toml", *options)
    document = _campaign(tmp_path)
    assert (code, document["verdict"]) == (20, "UNKNOWN"), output
    assert "so that 1 of 2 planned runs were not made" in document["summary"]
    assert document["notes"] == [
        "no run was made of: small with correct",
        "cut, and not counted: small with correct",
    ]
    assert "another run ended the campaign (--exit-first)" in output
    (seed,) = (run.read_text() for run in tmp_path.glob("reports/alone/*/plan.json"))
    code, output = running.run(tmp_path, "hunt", "--last-failed", "--jobs", "1")
    again = _campaign(tmp_path)
    assert (code, [row["scenario"] for row in again["rows"]]) == (20, ["alone"]), output
    assert again["notes"][0].startswith("only what failed in ")
    plans = [run.read_text() for run in tmp_path.glob("reports/alone/*/plan.json")]
    assert {json.loads(plan)["seed"] for plan in plans} == {json.loads(seed)["seed"]}
    assert len(plans) == 2


def _campaign(folder: pathlib.Path) -> dict[str, Any]:
    newest = max((folder / "reports" / "campaigns").iterdir())
    document: dict[str, Any] = json.loads((newest / "results.json").read_text())
    return document

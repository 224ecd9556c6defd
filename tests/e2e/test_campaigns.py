"""Whole campaigns: their table, their exit codes, and their end."""

import os
import pathlib
import signal
import xml.etree.ElementTree as ET

import pytest

from tests.e2e import running

pytestmark = pytest.mark.e2e


def test_a_campaign_with_a_control(tmp_path: pathlib.Path) -> None:
    scenario = str(running.scenario(tmp_path))
    options = ("--repeat", "1", "--jobs", "2", "--summary", "summary.md")
    code, output = running.run(tmp_path, "hunt", scenario, *options)
    assert code == 0, output
    (junit,) = tmp_path.glob("reports/campaigns/*/junit.xml")
    (suite,) = ET.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "0", "0")
    assert "## VALID 0 double allocations in 1 run of" in (tmp_path / "summary.md").read_text()
    assert "0 double allocations in 1 run of the correct subject" in output
    assert "1 of 1 positive controls caught" in output
    (index,) = tmp_path.glob("reports/campaigns/*/index.html")
    page = index.read_text()
    links = [part.partition('"')[0] for part in page.split('<a href="')[1:]]
    assert len(links) >= 2
    assert all((index.parent / link).is_file() for link in links)


def test_a_control_that_is_missed_makes_everything_unknown(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One user alone cannot race, so nothing is found, and nothing is proved by it."""
    scenario = running.scenario(tmp_path)
    text = scenario.read_text().replace("users = 16", "users = 1\nprocesses = 1")
    scenario.write_text(text.replace("duration_max_s = 30.0", "duration_max_s = 0.1"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, output = running.run(tmp_path, "hunt", str(scenario), "--repeat", "0")
    assert code == 20, output
    assert "small, gather-not-atomic: attempt 1 of 3, trying again" in output
    assert (output.count("NOT CAUGHT "), output.count("trying again")) == (3, 2)
    assert "::error title=control not caught%3A small%2C gather-not-atomic::" in output
    (junit,) = tmp_path.glob("reports/campaigns/*/junit.xml")
    assert 'failures="1"' in junit.read_text()
    assert "0 of 1 positive controls caught" in output


def test_an_interrupted_campaign_leaves_nothing(tmp_path: pathlib.Path) -> None:
    with running.started(tmp_path, "hunt", str(running.scenario(tmp_path))) as command:
        command.wait_for_other("main scheduler")
        os.killpg(command.process.pid, signal.SIGINT)
        assert command.wait() == 130
        assert "interrupted" in command.text()
        command.require_alone()

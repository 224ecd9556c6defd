"""Campaigns: a control that is missed, an interruption; `test_documents` has one without them."""

import os
import pathlib
import signal

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
    assert "0 of 1 positive controls caught" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_campaign_leaves_nothing(
    tmp_path: pathlib.Path, number: signal.Signals
) -> None:
    with running.started(tmp_path, "hunt", str(running.scenario(tmp_path))) as command:
        command.wait_for_other("main scheduler")
        os.killpg(command.process.pid, number)
        assert command.wait() == 130
        assert "interrupted" in command.text()
        command.require_alone()

"""`flake-hunt confirm`: exit codes, texts, JSON and refusals; the plays are replaced."""

import json
import pathlib

import pytest

from harness.cli import playing
from harness.confirmation import answers
from harness.scenario import loading
from tests.support.called_commands import FlakeHunt


def plays(monkeypatch: pytest.MonkeyPatch, answer: answers.Answer, late: int | None = None) -> None:
    def play(_: playing.Plays, loaded: loading.Loaded) -> answers.Played:
        return answers.Played(
            script=loaded.scenario.name,
            answer=answer,
            sentence=f"{answer} (kube-scheduler v1.36.3): as the test says",
            directory=pathlib.Path("/run"),
            late_step=late,
            last_calls=["update resourceclaims/claim-1/status by kube-scheduler (200)"]
            * bool(late),
        )

    monkeypatch.setattr(playing.Plays, "play", play)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (answers.Answer.CONFIRMED, 10),
        (answers.Answer.OTHER, 10),
        (answers.Answer.REFUTED, 0),
        (answers.Answer.NOT_FOLLOWED, 20),
        (answers.Answer.UNKNOWN, 20),
    ],
)
def test_exit_codes(
    answer: answers.Answer,
    code: int,
    flake_hunt: FlakeHunt,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
) -> None:
    plays(monkeypatch, answer)
    found, out, _ = flake_hunt("confirm", "h01-lost-answer", "--reports", str(tmp_path))
    assert found == code
    assert out.splitlines()[-1] == f"h01-lost-answer: {answer}"
    told = [line for line in out.splitlines() if line.startswith("h01-lost-answer: ")]
    assert told[0].endswith("as the test says  /run/report.html"), "a line a play, with its page"
    assert "pod-1" not in out, "the steps are on the page"


def test_the_rate_of_several_plays(
    flake_hunt: FlakeHunt, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    plays(monkeypatch, answers.Answer.CONFIRMED)
    arguments = ("confirm", "h01-lost-answer", "--repeat", "20", "--reports", str(tmp_path))
    _, out, _ = flake_hunt(*arguments)
    assert "confirmed in 20 of 20 runs (95 % confidence: 83 % to 100 %)" in out
    assert sum("/run" in line for line in out.splitlines()) == 20
    assert all("as the test says" in line for line in out.splitlines() if "/run" in line)
    _, out, _ = flake_hunt(*arguments, "--output", "json")
    document = json.loads(out)
    assert (document["confirmed"], document["runs"], document["exit_code"]) == (20, 20, 10)
    assert len(document["plays"]) == 20


def test_the_last_calls_of_a_play_that_was_not_followed(
    flake_hunt: FlakeHunt, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    plays(monkeypatch, answers.Answer.NOT_FOLLOWED, late=4)
    _, out, _ = flake_hunt("confirm", "H1", "--reports", str(tmp_path))
    assert "update resourceclaims/claim-1/status by kube-scheduler (200)" in out

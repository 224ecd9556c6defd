"""`flake-hunt reproduce`: exit codes, texts and JSON; the reproduction itself is replaced."""

import json
import pathlib
import re
from typing import Any

import pytest

from harness import rates
from harness.reproduction import reproducing
from harness.scenario import loading
from tests.support.called_commands import FlakeHunt

README = pathlib.Path(__file__).parents[3] / "reports" / "README.md"
SCENARIO = loading.load("answer-lost").scenario
MADE = {"scenario": SCENARIO, "folder": pathlib.Path("/made")}
REPRODUCED = reproducing.Outcome(runs=55, rate=rates.Rate(14, 20), **MADE)
NOT_REPRODUCED = reproducing.Outcome(runs=10)
CUT = reproducing.Outcome(runs=9, rate=rates.Rate(3, 3), is_interrupted=True, **MADE)


def answer(monkeypatch: pytest.MonkeyPatch, outcome: reproducing.Outcome) -> list[Any]:
    """Let the reproduction have this outcome; return the options that it gets."""
    given: list[Any] = []

    def reproduce(path: pathlib.Path, options: object, **shown: object) -> reproducing.Outcome:
        given.append(options)
        return outcome

    monkeypatch.setattr(reproducing, "reproduce", reproduce)
    return given


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (REPRODUCED, 0, ["reproduced: 80 claims", "failed in 14 of 20 runs", "/made\n"]),
        (NOT_REPRODUCED, 20, ["not reproduced in 10 runs\n"]),
        (CUT, 130, ["the smallest scenario so far is in /made"]),
    ],
)
def test_the_outcome_is_told(
    flake_hunt: FlakeHunt,
    monkeypatch: pytest.MonkeyPatch,
    outcome: reproducing.Outcome,
    code: int,
    said: list[str],
) -> None:
    given = answer(monkeypatch, outcome)
    found, out, err = flake_hunt("reproduce", "run", "--minutes", "2", "--cluster", "local")
    assert found == code
    assert [part for part in said if part not in out + err] == []
    [options] = given
    assert (options.minutes, options.profile.provider) == (2.0, "local")


@pytest.mark.parametrize("outcome", [REPRODUCED, NOT_REPRODUCED])
def test_as_json(
    flake_hunt: FlakeHunt, monkeypatch: pytest.MonkeyPatch, outcome: reproducing.Outcome
) -> None:
    answer(monkeypatch, outcome)
    code, out, _ = flake_hunt("reproduce", "run", "--output", "json")
    document = json.loads(out)
    [row] = [line for line in README.read_text().splitlines() if line.startswith("| `reproduce` ")]
    assert set(document) == set(re.findall("`([^`]+)`", row.split("|")[2]))
    assert (document["exit_code"], document["failed"]) == (code, outcome.rate.failed)

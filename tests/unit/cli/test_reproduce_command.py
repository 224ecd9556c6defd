"""`flake-hunt reproduce`: exit codes, texts and JSON; the reproduction itself is replaced."""

import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from harness import rates
from harness.reproduction import reproducing
from harness.scenario import loading

README = pathlib.Path(__file__).parents[3] / "reports" / "README.md"
FlakeHunt = Callable[..., tuple[int, str, str]]
SCENARIO = loading.load("answer-lost").scenario
REPRODUCED = reproducing.Outcome(
    runs=55, scenario=SCENARIO, rate=rates.Rate(14, 20), folder=pathlib.Path("/made")
)


def answer(monkeypatch: pytest.MonkeyPatch, outcome: reproducing.Outcome) -> list[Any]:
    """Let the reproduction have this outcome; return the options that it gets."""
    given: list[Any] = []

    def reproduce(path: pathlib.Path, options: object, **shown: object) -> reproducing.Outcome:
        given.append(options)
        return outcome

    monkeypatch.setattr(reproducing, "reproduce", reproduce)
    return given


def test_reproduced(flake_hunt: FlakeHunt, monkeypatch: pytest.MonkeyPatch) -> None:
    given = answer(monkeypatch, REPRODUCED)
    code, out, _ = flake_hunt("reproduce", "run", "--minutes", "2", "--cluster", "local")
    assert code == 0
    assert "reproduced: 80 claims" in out
    assert "failed in 14 of 20 runs" in out
    assert out.splitlines()[-1].strip() == "/made"
    [options] = given
    assert (options.minutes, options.profile.provider) == (2.0, "local")


def test_not_reproduced(flake_hunt: FlakeHunt, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, reproducing.Outcome(runs=10))
    code, out, _ = flake_hunt("reproduce", "run")
    assert (code, out) == (20, "not reproduced in 10 runs\n")


def test_interrupted(flake_hunt: FlakeHunt, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = reproducing.Outcome(
        runs=9,
        scenario=SCENARIO,
        rate=rates.Rate(3, 3),
        folder=pathlib.Path("/made"),
        is_interrupted=True,
    )
    answer(monkeypatch, cut)
    code, _, err = flake_hunt("reproduce", "run")
    assert code == 130
    assert "the smallest scenario so far is in /made" in err


@pytest.mark.parametrize("outcome", [REPRODUCED, reproducing.Outcome(runs=10)])
def test_as_json(
    flake_hunt: FlakeHunt, monkeypatch: pytest.MonkeyPatch, outcome: reproducing.Outcome
) -> None:
    answer(monkeypatch, outcome)
    code, out, _ = flake_hunt("reproduce", "run", "--output", "json")
    document = json.loads(out)
    [row] = [line for line in README.read_text().splitlines() if line.startswith("| `reproduce` ")]
    assert set(document) == set(re.findall("`([^`]+)`", row.split("|")[2]))
    assert (document["exit_code"], document["failed"]) == (code, outcome.rate.failed)

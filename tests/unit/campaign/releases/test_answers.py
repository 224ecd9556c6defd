"""The answer of one run about a finding."""

import pathlib
from typing import Any

import pytest

from harness.campaign.releases import answers
from tests.unit.campaign.releases import tables

CHECKS = ["device_exclusivity"]
NOT_FOLLOWED = "step 2 of 7 did not happen"


@pytest.mark.parametrize(
    ("document", "word", "reason"),
    [
        (tables.verdict(tables.VALID), "not shown", ""),
        (
            tables.verdict(tables.INVALID, "device_exclusivity"),
            "shown",
            "device_exclusivity is broken",
        ),
        (
            tables.verdict(tables.INVALID, "device_exclusivity", script=NOT_FOLLOWED),
            "shown",
            "device_exclusivity is broken",
        ),
        (
            tables.verdict(tables.INVALID, "bound_pods"),
            "not shown",
            "but bound_pods found something",
        ),
        (
            tables.verdict(tables.INVALID, "bound_pods", script=NOT_FOLLOWED),
            "undecided",
            f"the script was not followed: {NOT_FOLLOWED}",
        ),
        (
            tables.verdict(tables.UNKNOWN, missing="gap", script=NOT_FOLLOWED),
            "undecided",
            f"the script was not followed: {NOT_FOLLOWED}",
        ),
        (tables.verdict(tables.UNKNOWN, missing="the record has a gap"), "undecided", "the record"),
        (tables.verdict(tables.UNKNOWN), "undecided", "its reason"),
    ],
)
def test_a_verdict_answers(document: dict[str, Any], word: str, reason: str) -> None:
    answer = answers.of_verdict(document, CHECKS)
    assert answer.word == word
    assert answer.reason.startswith(reason)


def test_what_else_was_found_is_named_beside_it() -> None:
    both = tables.verdict(tables.INVALID, "device_exclusivity", "bound_pods")
    assert answers.of_verdict(both, CHECKS).others == ["bound_pods"]


def test_without_named_checks_any_violation_counts() -> None:
    found = answers.of_verdict(tables.verdict(tables.INVALID, "bound_pods"), [])
    assert (found.word, found.others) == ("shown", [])


def test_a_run_without_a_verdict_is_undecided(tmp_path: pathlib.Path) -> None:
    run = tables.run(tmp_path, "one", tables.verdict(tables.VALID))
    assert answers.of_run(run, CHECKS).word == "not shown"
    (pathlib.Path(run.directory) / "verdict.json").write_text("{")
    assert answers.of_run(run, CHECKS).word == "undecided"


def test_a_run_that_could_not_be_executed_is_undecided(tmp_path: pathlib.Path) -> None:
    run = tables.run(tmp_path, "one", tables.verdict(tables.VALID), error="it ended at once")
    answer = answers.of_run(run, CHECKS)
    assert (answer.word, answer.reason) == ("undecided", "it ended at once")

"""A mistake in the options of a bisection ends the search; git takes it for no revision's fault."""

import pytest

from tests.support.called_commands import FlakeHunt

ABORT, SKIP, USAGE = 255, 125, 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bisect"], "expected --bisect with the scenario in which the defect shows, got none"),
        (["--bisect-fix", "--", "--v=4"], "expected --bisect with the scenario"),
        (["pod-churn", "--bisect", "--minutes", "3"], "expected --bisect without --minutes"),
        (["pod-churn", "--bisect", "--dry-run"], "expected --bisect without --dry-run"),
        (["pod-churn", "--bisect", "--until-decided", "x"], "expected --until-decided RATE@CONF"),
        (["pod-churn", "--bisect", "--until-decided", "0.0001@0.95"], "10,000 runs can decide"),
        (["pod-churn", "--bisect", "--until-decided", "0.0008@0.9"], "at most 5,000 runs, got"),
        (["pod-churn", "--bisct"], "No such option: --bisct"),
        (["pod-churn", "--bisect", "--bisect-steps", "0"], "expected at least 1, got '0'"),
    ],
)
def test_a_mistake_ends_the_search(flake_hunt: FlakeHunt, words: list[str], message: str) -> None:
    code, _, printed = flake_hunt("test", "python", *words)
    assert (code, message in printed) == (ABORT, True), printed


def test_a_program_that_was_not_built_is_skipped(flake_hunt: FlakeHunt) -> None:
    code, _, printed = flake_hunt("test", "./not-built", "pod-churn", "--bisect")
    assert code == SKIP
    assert "expected a program" in printed


def test_options_without_a_bisection_are_refused(flake_hunt: FlakeHunt) -> None:
    code, _, printed = flake_hunt("test", "python", "pod-churn", "--until-decided", "0.3@0.95")
    assert code == USAGE
    assert "expected --until-decided with --bisect or --bisect-fix, got neither" in printed

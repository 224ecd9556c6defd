"""A mistake in the options of a bisection ends the search; git takes it for no revision's fault."""

import pytest

from tests.support.called_commands import FlakeHunt

ABORT, SKIP = 255, 125


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bisect"], "expected --bisect with the scenario in which the defect shows, got none"),
        (["--bisect-fix", "--", "--v=4"], "expected --bisect with the scenario"),
        (["pod-churn", "--bisect", "--minutes", "3"], "expected --bisect without --minutes"),
        (["pod-churn", "--bisect", "--dry-run"], "expected --bisect without --dry-run"),
        (["pod-churn", "--bisct"], "No such option: --bisct"),
        (["pod-churn", "--bisect", "--bisect-steps", "9"], "use `--repeat N`, the number of"),
    ],
)
def test_a_mistake_ends_the_search(flake_hunt: FlakeHunt, words: list[str], message: str) -> None:
    code, _, printed = flake_hunt("test", "python", *words)
    assert (code, message in printed) == (ABORT, True), printed


def test_a_program_that_was_not_built_is_skipped(flake_hunt: FlakeHunt) -> None:
    code, _, printed = flake_hunt("test", "./not-built", "pod-churn", "--bisect")
    assert code == SKIP
    assert "expected a program" in printed

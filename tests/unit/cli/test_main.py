"""git is told 0, 1 or 125, or that the search ends; nothing else, whatever happens."""

from collections.abc import Callable

import pytest

from harness.cli import main
from tests.support import cases
from tests.support.called_commands import FlakeHunt

TEST = ["test", "./mine", "--bisect"]


def ends(code: int) -> Callable[[int], int]:
    return lambda misuse: code


@pytest.mark.parametrize(
    ("code", "bug", "fix"),
    [(0, 0, 1), (10, 1, 0), (20, 125, 125), (1, 125, 125), (2, 125, 125), (130, 130, 130)],
)
def test_each_outcome_has_its_code(code: int, bug: int, fix: int) -> None:
    assert main.run(ends(code), TEST) == bug
    assert main.run(ends(code), ["test", "./mine", "--bisect-fix"]) == fix


def test_a_command_line_that_cannot_be_read_ends_the_search() -> None:
    assert main.run(lambda misuse: misuse, TEST) == 255
    assert main.run(lambda misuse: misuse, ["test", "./mine", "--bisct"]) == 255
    assert main.run(lambda misuse: misuse, ["test", "./mine"]) == 2


def test_a_bug_of_the_harness_is_no_bad_revision(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(misuse: int) -> int:
        raise ZeroDivisionError

    assert main.run(fails, TEST) == 125
    assert "ZeroDivisionError" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):
        main.run(fails, ["test", "./mine"])


@pytest.mark.parametrize(
    "arguments", [["hunt", "--bisect"], [], ["test", "./mine", "--", "--bisect"]]
)
def test_other_commands_keep_their_codes(arguments: list[str]) -> None:
    assert main.run(ends(10), arguments) == 10


@pytest.mark.parametrize(("words", "message"), cases.read(__file__, "mistakes"))
def test_a_mistake_ends_the_search(flake_hunt: FlakeHunt, words: list[str], message: str) -> None:
    code, _, printed = flake_hunt("test", "python", *words)
    assert (code, message in printed) == (255, True), printed


def test_a_program_that_was_not_built_is_skipped(flake_hunt: FlakeHunt) -> None:
    code, _, printed = flake_hunt("test", "./not-built", "pod-churn", "--bisect")
    assert code == 125
    assert "expected a program" in printed

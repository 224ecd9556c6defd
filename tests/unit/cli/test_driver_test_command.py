"""`flake-hunt driver-test`: early ends, weights that fail, and programs that are not there."""

import sys
from collections.abc import Iterator

import pytest

from harness.conformance import results, rules, suite
from tests.support.called_commands import FlakeHunt


@pytest.mark.parametrize(
    ("end", "options", "code", "verdict"),
    [
        (KeyboardInterrupt, ["--repeat=2"], 20, "UNKNOWN 1 of 4 rules held, 1 `must` undecided"),
        (None, [], 0, "VALID 1 of 2 rules held, 1 `should` failed"),
        (None, ["--fail-on=should"], 10, "INVALID 1 of 2 rules held, 1 `should` failed"),
        (
            None,
            ["--fail-on=should", "--fail-fast", "--repeat=9"],
            10,
            "INVALID 1 of 18 rules held, 8 `must` undecided, 1 `should` failed",
        ),
    ],
)
def test_a_test_that_ends_early_tells_what_was_checked(
    flake_hunt: FlakeHunt,
    monkeypatch: pytest.MonkeyPatch,
    end: type[BaseException] | None,
    options: list[str],
    code: int,
    verdict: str,
) -> None:
    def run(_: object, rounds: list[list[rules.Rule]], **more: object) -> Iterator[results.Result]:
        chosen = rounds[0]
        yield results.Result(rule=chosen[0], outcome=results.Outcome.HELD)
        if end is not None:
            raise end
        yield results.Result(rule=chosen[1], outcome=results.Outcome.FAILED, text="why")

    monkeypatch.setattr(suite, "run", run)
    wanted = ["--rules=cdi/exist", "--rules=cdi/made-again", *options]
    found, output, _ = flake_hunt("driver-test", sys.executable, *wanted)
    assert found == code
    assert output.splitlines()[-1].startswith(verdict)


def test_a_program_that_is_not_there_is_a_mistake_of_the_user(flake_hunt: FlakeHunt) -> None:
    code, output, complaint = flake_hunt("driver-test", "no-such-driver {node}")
    assert (code, output) == (2, "")
    assert "no-such-driver is neither a file nor on PATH" in complaint

"""The rehearsal of a test: what is waited for is said, and the wait has an end."""

import pathlib
from typing import Any

import pytest

from harness import clocks, errors
from harness.campaign.programs import rehearsals, tested_programs
from harness.run import runs
from harness.scenario import profiles

SLEEP = tested_programs.TestedProgram(kind="command", name="sleep", subject="command=sleep 1000")


def test_a_program_that_does_nothing_is_given_up_after_its_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    now_ns, said = [0], list[str]()
    monkeypatch.setattr(clocks, "monotonic_ns", lambda: now_ns[0])

    def run(*_: object, progress: Any, deadline: Any) -> Any:
        """The cluster takes a minute to start, which is not the program's fault."""
        assert said == ["first sleep has to bind one pod with one claim, in 20 s at most"]
        now_ns[0] += 60 * 10**9
        deadline.require_time()
        progress.phase("load")
        now_ns[0] += 19 * 10**9
        deadline.require_time()
        now_ns[0] += 2 * 10**9
        with pytest.raises(errors.TimeUpError):
            deadline.require_time()
        raise errors.ProcessError("given up")

    monkeypatch.setattr(runs, "run", run)
    with pytest.raises(errors.UsageError, match="expected sleep to bind one pod"):
        rehearsals.rehearsed(SLEEP, profiles.load("embedded"), say=said.append)

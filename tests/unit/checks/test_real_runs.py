"""Judge the recorded runs with real Kubernetes programs."""

import pathlib

import pytest

from harness.checks import judging, verdicts
from tests.support import real_runs

EXPECTED = {
    "embedded-answer-lost-1.36.3": "INVALID",
    "embedded-taints-panic-1.36.2": "UNKNOWN",
    "local-answer-lost-1.36.2": "INVALID",
}
"""Run -> its verdict. Runs that are judged wrongly today are missing here."""


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_verdict_of_a_real_run(name: str, tmp_path: pathlib.Path) -> None:
    judged = judging.judge(real_runs.unpack(name, tmp_path))
    assert judged.verdict is verdicts.Verdict[EXPECTED[name]]

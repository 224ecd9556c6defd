"""Golden run directories have the verdicts that their names say, and every check has its own."""

import pytest

from harness.checks import check_registry, judging, verdicts
from harness.history import directories
from tests.histories import specimens

RUNS = sorted(path.parent for path in specimens.GOLDEN.glob("*/*/plan.json"))
PLAIN = {"device_exclusivity/UNKNOWN-gap"}
"""Directories that are UNKNOWN although the check itself found nothing against VALID."""


@pytest.mark.parametrize("name", [path.relative_to(specimens.GOLDEN).as_posix() for path in RUNS])
def test_the_verdict_is_that_of_the_name(name: str) -> None:
    directory = directories.existing(specimens.GOLDEN / name)
    judgement = judging.judge(directory)
    expected = verdicts.Verdict(directory.path.name.partition("-")[0])
    assert judgement.verdict is expected, judgement.reason
    [result] = [item for item in judgement.checks if item.check == directory.path.parent.name]
    assert name in PLAIN or result.verdict is expected, result.reason
    changed = [item for item in judgement.certificate if item.name == "manifest"]
    assert [item.ok for item in changed] == [True]


def test_every_check_has_one_of_each_verdict() -> None:
    names = {(path.parent.name, path.name.partition("-")[0]) for path in RUNS}
    assert names == {
        (check.name, one) for check in check_registry.CHECKS for one in verdicts.Verdict
    }

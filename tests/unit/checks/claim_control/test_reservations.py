"""No claim may have more reservations than the API allows, in any version of it."""

import pathlib

import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.checks.claim_control import reservations
from harness.history import plans
from tests.histories import building

SHARED = plans.Requirements(allocations_min=1, pods_running_min=0, reservations_min=2)


def _full(pods: int) -> str:
    """A history in which one claim is reserved for this many pods, and then deleted."""
    return f"b+D2 a+D1 {' '.join(f'a^p{number}' for number in range(pods))} a~ c+D1"


def _judge(
    path: pathlib.Path, text: str, requirements: plans.Requirements = SHARED
) -> verdict_files.Judgement:
    return judging.judge(building.build(path / "run", text, requirements=requirements))


def _result(judgement: verdict_files.Judgement) -> verdicts.CheckResult:
    (found,) = [item for item in judgement.checks if item.check == reservations.NAME]
    return found


def test_a_full_claim_is_valid(tmp_path: pathlib.Path) -> None:
    judgement = _judge(tmp_path, _full(reservations.RESERVATIONS_MAX))
    assert judgement.verdict is verdicts.Verdict.VALID
    assert _result(judgement).reason.startswith("at most 256 reservations of one claim in 256")


def test_one_version_with_too_many_is_a_violation_although_later_ones_are_fine(
    tmp_path: pathlib.Path,
) -> None:
    judgement = _judge(tmp_path, _full(reservations.RESERVATIONS_MAX + 1))
    assert judgement.verdict is verdicts.Verdict.INVALID
    (violation,) = _result(judgement).violations
    assert violation.summary == "claim a was reserved for 257 pods at once"
    assert violation.resource_versions == [259]
    assert [item.name for item in violation.objects] == ["a"]


def test_without_a_reservation_nothing_was_examined(tmp_path: pathlib.Path) -> None:
    result = _result(_judge(tmp_path, "a+D1 a-D1"))
    assert (result.verdict, result.examined_count) == (verdicts.Verdict.UNKNOWN, 0)


def test_too_few_reservations_are_too_little_load(tmp_path: pathlib.Path) -> None:
    judgement = _judge(tmp_path, "a+D1 a^p a-D1")
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "1 reservations of one claim, expected at least 2" in judgement.reason


@pytest.mark.parametrize("pods", [1, 300])
def test_a_run_that_shares_no_claim_owes_nothing(tmp_path: pathlib.Path, pods: int) -> None:
    nothing = plans.Requirements(allocations_min=1, pods_running_min=0)
    judgement = _judge(tmp_path, _full(pods), nothing)
    assert judgement.verdict is verdicts.Verdict.VALID
    assert reservations.NAME not in [item.check for item in judgement.checks]

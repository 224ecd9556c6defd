"""Schedulers that cannot read the counters of a run's pools are not blamed for them."""

from typing import Any

import msgspec
import pytest

from harness.checks import device_exclusivity, judging, protocol, verdicts
from tests.histories import building

INVALID, UNKNOWN = verdicts.Verdict.INVALID, verdicts.Verdict.UNKNOWN
COUNTING = {"pools": {"more": [{"name": "gpu", "partitions": [1, 2]}]}}
LIMITED = {"pools": {"more": [{"name": "gpu"}, {"name": "nic", "limit": 3}]}}
PLAIN = {"pools": {"more": [{"name": "gpu", "shared": True}]}}


def verdict(check: str, settings: dict[str, Any], *versions: str) -> verdicts.Verdict:
    named = {f"scheduler-{number}": text for number, text in enumerate(versions)}
    plan = msgspec.structs.replace(building.plan(settings=settings), versions=named)
    result = verdicts.CheckResult(
        check=check,
        promise="",
        verdict=INVALID,
        examined_count=3,
        violation_count=2,
        violations=[],
        others=[],
        reason="2 of 3",
    )
    judged = msgspec.structs.replace(device_exclusivity.CHECK, name=check)
    answer = judging.review_skew(protocol.Evidence(plan), judged, result)
    assert (answer == result) is (answer.verdict is INVALID)
    return answer.verdict


@pytest.mark.parametrize(
    ("settings", "version", "expected"),
    [
        (COUNTING, "kube-scheduler v1.34.9", UNKNOWN),
        (LIMITED, "kube-scheduler v1.34.2", UNKNOWN),
        (COUNTING, "kube-scheduler v1.35.0", INVALID),
        (PLAIN, "kube-scheduler v1.34.9", INVALID),
        (COUNTING, "v1.34.9", INVALID),
    ],
)
def test_releases_before_one_thirty_five(
    settings: dict[str, Any], version: str, expected: verdicts.Verdict
) -> None:
    assert verdict("device_consumption", settings, "3.11.7", version) is expected
    assert verdict("claim_progress", settings, version) is expected
    assert verdict("device_exclusivity", settings, version) is INVALID

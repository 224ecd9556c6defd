"""Doubt is no violation: the golden INVALID runs of all checks, with observations in doubt.

Violations of checks that need nothing but holds stand if there are only gaps.
"""

import json
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from harness.checks import check_registry, device_exclusivity, judging, protocol, verdicts
from harness.history import directories, journal_reader, manifests, records
from tests.histories import building, damages, judged_runs, language, specimens

Disturbance = Callable[[damages.Body], damages.Body]
CHECKS = {check.name: check for check in check_registry.CHECKS}
BY_HOLDS = ["device_exclusivity", "scheduler_exclusivity"]


def _events(body: damages.Body, resource: str = "") -> list[int]:
    return [
        index
        for index, item in enumerate(body)
        if isinstance(item, records.Observation)
        and item.type not in ("LISTED", "FINAL")
        and resource in ("", item.resource)
    ]


def out_of_order(body: damages.Body) -> damages.Body:
    """Put the last event after the final lists."""
    at = _events(body)[-1]
    return [*body[:at], *body[at + 1 :], body[at]]


def with_gap(body: damages.Body) -> damages.Body:
    """Let the watch of the pods have a gap after the first event of the claims."""
    at = _events(body, "resourceclaims")[0]
    first = body[at]
    assert isinstance(first, records.Observation)
    gap = language.gap("pods", first.resource_version, first.ts_ns)
    return [*body[:at], gap, *body[at:]]


def recorded_twice(body: damages.Body) -> damages.Body:
    """Record the last event of all twice."""
    at = _events(body)[-1]
    return [*body[: at + 1], body[at], *body[at + 1 :]]


def lost(body: damages.Body) -> damages.Body:
    """Lose the first event."""
    at = _events(body)[0]
    return [*body[:at], *body[at + 1 :]]


def too_many_listed(body: damages.Body) -> damages.Body:
    at = next(
        index
        for index, item in enumerate(body)
        if isinstance(item, records.Listed) and item.purpose == "final"
    )
    listed = body[at]
    assert isinstance(listed, records.Listed)
    return [*body[:at], msgspec.structs.replace(listed, count=listed.count + 1), *body[at + 1 :]]


DISTURBANCES = [out_of_order, with_gap, recorded_twice, lost, too_many_listed]


def _judged(
    check: str, folder: pathlib.Path, disturb: Disturbance
) -> tuple[verdicts.Verdict, verdicts.CheckResult]:
    shutil.copytree(specimens.GOLDEN / check / "INVALID", folder)
    directory = directories.existing(folder)
    _change(directory.observations, disturb)
    manifests.write(directory, run_id=json.loads(directory.plan.read_bytes())["run_id"])
    judgement = judging.judge(directory)
    [result] = [item for item in judgement.checks if item.check == check]
    return judgement.verdict, result


def _change(path: pathlib.Path, disturb: Disturbance) -> None:
    header, *lines, last = path.read_bytes().splitlines()
    body = disturb([journal_reader.decode_record(line) for line in lines])
    trailer = msgspec.json.decode(last) | {"count": len(body)}
    content = [header, *map(msgspec.json.encode, body), msgspec.json.encode(trailer)]
    path.write_bytes(b"".join(line + b"\n" for line in content))


@pytest.mark.parametrize(
    ("check", "disturb"),
    [
        *((name, with_gap) for name in CHECKS if name not in BY_HOLDS),
        *(("claim_reservations", disturb) for disturb in DISTURBANCES if disturb is not with_gap),
    ],
)
def test_a_violation_is_not_certain_if_the_observations_are_in_doubt(
    check: str, disturb: Disturbance, tmp_path: pathlib.Path
) -> None:
    verdict, result = _judged(check, tmp_path / "run", disturb)
    assert verdict is verdicts.Verdict.UNKNOWN
    assert result.verdict is not verdicts.Verdict.INVALID
    assert (result.violation_count, result.violations) == (0, [])


@pytest.mark.parametrize("disturb", DISTURBANCES)
@pytest.mark.parametrize("check", BY_HOLDS)
def test_a_gap_leaves_a_violation_of_holds_certain(
    check: str, disturb: Disturbance, tmp_path: pathlib.Path
) -> None:
    """So does a contradiction about pods; one about claims leaves nothing."""
    verdict, result = _judged(check, tmp_path / "run", disturb)
    assert verdict is result.verdict is not verdicts.Verdict.VALID
    assert bool(result.violations) is (verdict is verdicts.Verdict.INVALID)
    if disturb is with_gap:
        assert verdict is verdicts.Verdict.INVALID


INVALID, UNKNOWN = verdicts.Verdict.INVALID, verdicts.Verdict.UNKNOWN
COUNTING = {"pools": {"more": [{"name": "gpu", "partitions": [1, 2]}]}}
LIMITED = {"pools": {"more": [{"name": "gpu"}, {"name": "nic", "limit": 3}]}}
PLAIN = {"pools": {"more": [{"name": "gpu", "shared": True}]}}


def verdict(check: str, settings: dict[str, Any], *versions: str) -> verdicts.Verdict:
    named = {f"scheduler-{number}": text for number, text in enumerate(versions)}
    plan = msgspec.structs.replace(building.plan(settings=settings), versions=named)
    result = judged_runs.answered(check, INVALID, 2)
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

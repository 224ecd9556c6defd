"""Contradictions that went unnoticed once: each makes the certificate say no, and no verdict VALID.

In some of the doctored histories a device was held twice; what showed it was taken out.
"""

import pathlib

import msgspec
import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.history import records
from tests.histories import building, damages, dense_histories, judged_runs, language

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
TEXT = "a+D1 x* a^x . b+D2 b^y b~ c+D2 a-D1"
DOUBLED = "d+D3 a+D1 . b+D1 b^x b-D1 b~ a^y"


def _without(body: damages.Body, text: bytes) -> damages.Body:
    """The records without the objects that have a text."""
    return [
        item
        for item in body
        if not (isinstance(item, records.Observation) and text in bytes(item.object))
    ]


def _judge(folder: pathlib.Path, body: damages.Body) -> verdict_files.Judgement:
    # Claims that a controller generates are in no journal of the load.
    silent = damages.changed(damages.operations, lambda _: [])
    options = {"observations": body, "changes": dense_histories.CHANGES}
    return judged_runs.judge(folder, TEXT, silent, **options)


def test_without_contradictions_nothing_is_missing(tmp_path: pathlib.Path) -> None:
    for text, verdict in ((TEXT, VALID), (DOUBLED, INVALID)):
        judgement = _judge(tmp_path / verdict.name, dense_histories.observe(text))
        assert (judgement.verdict, judged_runs.failed(judgement)) == (verdict, {})


def test_a_claim_without_any_record_is_unknown_although_its_device_was_held_twice(
    tmp_path: pathlib.Path,
) -> None:
    judgement = _judge(tmp_path, _without(dense_histories.observe(DOUBLED), b'"uid-b"'))
    assert judgement.verdict is UNKNOWN
    assert judged_runs.failed(judgement)["revisions"] == "the revisions 4 to 7 were not observed"


def test_an_allocation_that_shows_in_the_deletion_only(tmp_path: pathlib.Path) -> None:
    body = [
        language.edited(item, lambda value: value["status"].pop("allocation"))
        if isinstance(item, records.Observation) and item.resource_version == 3
        else item
        for item in dense_histories.observe("a+D1 . b+D1 b~ a-D1")
    ]
    judgement = _judge(tmp_path, body)
    assert judgement.verdict is UNKNOWN
    assert "lives" in judged_runs.failed(judgement)


def test_a_claim_that_only_a_pod_names_is_missed(tmp_path: pathlib.Path) -> None:
    """In a cluster whose revisions are not dense, nothing else tells that it was there."""
    text = "p:a a+D1 a^p p* b+D2"
    final = language.CLAIMS, "final"
    body = [
        msgspec.structs.replace(item, count=1)
        if isinstance(item, records.Listed) and (item.resource, item.purpose) == final
        else item
        for item in _without(language.observe(text), b'"uid-a"')
    ]
    silent = damages.changed(damages.operations, lambda _: [])
    judgement = judged_runs.judge(tmp_path, text, silent, observations=body)
    assert judgement.verdict is UNKNOWN
    named = "pods tests/p names claim a, which was never observed"
    assert judged_runs.failed(judgement) == {"references": named}


def test_a_lost_release_is_no_violation(tmp_path: pathlib.Path) -> None:
    body = [
        item
        for item in dense_histories.observe("a+D1 a-D1 b+D1 b-D1 c+D2 a^x")
        if not (isinstance(item, records.Observation) and item.resource_version == 2)
    ]
    judgement = _judge(tmp_path, body)
    assert judgement.verdict is UNKNOWN
    result = judged_runs.result(judgement, "device_exclusivity")
    assert "1 violation would follow, but the observations are in doubt" in result.reason
    assert result.violations == []


def _answered(rv: str, devices: list[str] | None, name: str = "a") -> damages.Damage:
    """A user's write of a claim was acknowledged at this revision, with these devices."""
    call = msgspec.structs.replace(
        building.invocation(99, "resourceclaims/status", name), verb="update"
    )
    answer = msgspec.structs.replace(
        building.acknowledgement(99, f"uid-{name}", 0),
        resource_version=rv,
        devices=devices and [language.device_id(device) for device in devices],
    )
    return damages.appended(damages.operations, call, answer)


WRITE = "traffic-0: update resourceclaims/status tests/a at resourceVersion 2 was acknowledged "


@pytest.mark.parametrize(
    ("text", "answers", "reason"),
    [
        ("a+D1 a^x b+D2", [("2", ["D1"])], ""),
        ("a+D1 a^x b+D2", [("2", ["D9"])], WRITE + "with gpu.example/pool/D9, and observed"),
        # Only the write that differs is told.
        ("a+D1 a^x b+D2", [("2", ["D9"]), ("3", ["D2"], "b"), ("1", None)], WRITE),
        ("a+D1 a^x b+D2", [("2", []), ("3", ["D2"], "b"), ("1", None)], WRITE),
        # A claim may have been lost that shows the two holds of D1 to be no violation.
        ("a+D1 b+D1 a-D1", [("9", None)], WRITE.replace("Version 2", "Version 9") + "and never"),
        # The watch shows the device of b for claim a: that is no violation.
        ("c+D2 a+D1 b+D1 a-D1", [("2", [])], WRITE + "without devices, and observed otherwise"),
    ],
)
def test_a_claim_has_the_devices_that_were_acknowledged(
    tmp_path: pathlib.Path, text: str, answers: list[tuple[str, list[str]]], reason: str
) -> None:
    judgement = judged_runs.judge(tmp_path, text, *(_answered(*item) for item in answers))
    assert judgement.verdict is (UNKNOWN if reason else VALID)
    failed = judged_runs.failed(judgement)
    assert failed.keys() == ({"acknowledged"} if reason else set())
    assert failed.get("acknowledged", "").startswith(reason)


LOST_POD = building.invocation(99, language.PODS, "x"), building.acknowledgement(99, "uid-x", 9)


@pytest.mark.parametrize(
    ("text", "lost"), [("a+D1 b+D1 a-D1", [*LOST_POD]), ("a+D1 b+D1 [ c+D2 c~ ] a-D1", [])]
)
def test_a_lost_write_of_a_pod_or_in_a_gap_leaves_the_holds_as_they_are(
    tmp_path: pathlib.Path, text: str, lost: list[records.Body]
) -> None:
    damage = damages.appended(damages.operations, *lost)
    judgement = judged_runs.judge(tmp_path, text, damage)
    assert judgement.verdict is INVALID
    assert "never observed" in judged_runs.failed(judgement)["acknowledged"]


def test_a_lost_write_of_the_scheduler_is_named_although_another_journal_is_missing(
    tmp_path: pathlib.Path,
) -> None:
    changes = {"expected_writes": [building.SCHEDULER]}
    directory = building.build(tmp_path / "run", "a+D1", changes=changes)
    building.write(directory.operations(building.SCHEDULER), LOST_POD, process=building.SCHEDULER)
    directory.operations(building.KUBELET).unlink()
    reason = judged_runs.failed(judging.judge(directory))["acknowledged"]
    assert reason.startswith("scheduler: create pods")


def test_a_write_before_the_first_list_need_not_be_observed(tmp_path: pathlib.Path) -> None:
    body = [
        msgspec.structs.replace(item, resource_version=3)
        if isinstance(item, records.Listed) and item.purpose == "first"
        else item
        for item in language.observe(".3 a+D1 a^x b+D2")
    ]
    damage = _answered("3", ["D9"])
    judgement = judged_runs.judge(tmp_path, ".3 a+D1 a^x b+D2", damage, observations=body)
    assert judgement.verdict is VALID, judgement.reason

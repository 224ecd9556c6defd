"""Contradictions that went unnoticed once: each makes the certificate say no, and no verdict VALID.

In some of the doctored histories a device was held twice; what showed it was taken out.
"""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdicts
from harness.history import directories, records
from tests.histories import building, damages, dense_histories, language

TEXT = "a+D1 x* a^x . b+D2 b^y b~ c+D2 a-D1"
DOUBLED = "d+D3 a+D1 . b+D1 b^x b-D1 b~ a^y"
Change = Callable[[damages.Body], damages.Body]


def _event(rv: int, change: Callable[[records.Observation], records.Observation]) -> Change:
    """Change the event of a revision, but not the object in the final list."""

    def changed(body: damages.Body) -> damages.Body:
        return [
            change(item)
            if isinstance(item, records.Observation)
            and (item.resource_version, item.type != "FINAL") == (rv, True)
            else item
            for item in body
        ]

    return changed


def _object(rv: int, change: Callable[[Any], None]) -> Change:
    def changed(item: records.Observation) -> records.Observation:
        value = json.loads(bytes(item.object))
        change(value)
        return msgspec.structs.replace(item, object=msgspec.Raw(json.dumps(value).encode()))

    return _event(rv, changed)


def _without_allocation(value: Any) -> None:
    del value["status"]["allocation"]


def _with_another_device(value: Any) -> None:
    value["status"]["allocation"]["devices"]["results"][0]["device"] = "D9"


def _with_another_uid(value: Any) -> None:
    value["metadata"]["uid"] = "uid-b"


def _list(purpose: str, **fields: Any) -> Change:
    def changed(body: damages.Body) -> damages.Body:
        return [
            msgspec.structs.replace(item, **fields)
            if isinstance(item, records.Listed)
            and (item.resource, item.purpose) == (language.CLAIMS, purpose)
            else item
            for item in body
        ]

    return changed


def _without(unwanted: Callable[[records.Observation], bool]) -> Change:
    return lambda body: [
        item for item in body if not (isinstance(item, records.Observation) and unwanted(item))
    ]


def _is_of_claim_b(item: records.Observation) -> bool:
    return b'"uid-b"' in bytes(item.object)


def _typed(kind: Any) -> Callable[[records.Observation], records.Observation]:
    return lambda item: msgspec.structs.replace(item, type=kind)


FOUND: dict[str, tuple[str, Change, set[str]]] = {
    "an allocation is lost": (DOUBLED, _object(8, _without_allocation), {"final-objects"}),
    "another device is allocated": (DOUBLED, _object(8, _with_another_device), {"final-objects"}),
    "an allocation that shows in the deletion only": (
        "a+D1 . b+D1 b~ a-D1",
        _object(3, _without_allocation),
        {"lives"},
    ),
    "all of a claim": (DOUBLED, _without(_is_of_claim_b), {"revisions"}),
    "a record unlike its object": (
        TEXT,
        _event(3, lambda item: msgspec.structs.replace(item, resource_version=2)),
        {"records"},
    ),
    "a life after its end": (TEXT, _object(9, _with_another_uid), {"lives"}),
    "an end before others": (TEXT, _event(3, _typed("DELETED")), {"lives"}),
    "a change of something unseen": (
        TEXT,
        _without(lambda item: item.resource_version == 5),
        {"lives", "revisions"},
    ),
    "an end of something unseen": (
        TEXT,
        _without(lambda item: item.resource_version in (5, 6)),
        {"lives", "revisions"},
    ),
    "too large a first list": (TEXT, _list("first", count=1), {"lists"}),
    "too large a final list": (TEXT, _list("final", count=9), {"lists"}),
    "a final list that is too small": (TEXT, _list("final", count=0), {"lists"}),
    "an old final list": (TEXT, _list("final", resource_version=3), {"lists"}),
    "a first list from later on": (TEXT, _list("first", resource_version=4), {"order"}),
}


def _judge(tmp_path: pathlib.Path, text: str, change: Change = list) -> Any:
    body = change(dense_histories.observe(text))
    directory = building.build(
        tmp_path / "run", text, observations=body, changes=dense_histories.CHANGES
    )
    # Claims that a controller generates are in no journal of the load.
    damages.changed(damages.operations, lambda _: [])(directory)
    return judging.judge(directory)


def _missing(judgement: Any) -> set[str]:
    return {item.name for item in judgement.certificate if not item.ok}


@pytest.mark.parametrize(("text", "change", "expected"), FOUND.values(), ids=FOUND)
def test_a_contradiction_is_noticed(
    tmp_path: pathlib.Path, text: str, change: Change, expected: set[str]
) -> None:
    judgement = _judge(tmp_path, text, change)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert _missing(judgement) >= expected


def test_without_contradictions_nothing_is_missing(tmp_path: pathlib.Path) -> None:
    sound = _judge(tmp_path / "sound", TEXT)
    assert (sound.verdict, _missing(sound)) == (verdicts.Verdict.VALID, set())
    doubled = _judge(tmp_path / "doubled", DOUBLED)
    assert (doubled.verdict, _missing(doubled)) == (verdicts.Verdict.INVALID, set())


def test_a_claim_without_any_record_is_unknown_although_its_device_was_held_twice(
    tmp_path: pathlib.Path,
) -> None:
    judgement = _judge(tmp_path, DOUBLED, _without(_is_of_claim_b))
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "the revisions 4 to 7 were not observed" in judgement.reason


def test_a_claim_that_only_a_pod_names_is_missed(tmp_path: pathlib.Path) -> None:
    """In a cluster whose revisions are not dense, nothing else tells that it was there."""
    text = "p:a a+D1 a^p p* b+D2"
    body = [
        item
        for item in language.observe(text)
        if not (isinstance(item, records.Observation) and b'"uid-a"' in bytes(item.object))
    ]
    body = [
        msgspec.structs.replace(item, count=1)
        if isinstance(item, records.Listed)
        and (item.resource, item.purpose) == (language.CLAIMS, "final")
        else item
        for item in body
    ]
    directory = building.build(tmp_path / "run", text, observations=body)
    damages.changed(damages.operations, lambda _: [])(directory)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert _missing(judgement) == {"references"}
    assert "pods tests/p names claim a, which was never observed" in judgement.reason


def test_a_lost_release_is_no_violation(tmp_path: pathlib.Path) -> None:
    text = "a+D1 a-D1 b+D1 b-D1 c+D2 a^x"
    judgement = _judge(tmp_path, text, _without(lambda item: item.resource_version == 2))
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    (result,) = [item for item in judgement.checks if item.check == "device_exclusivity"]
    assert "1 violation would follow, but the observations are in doubt" in result.reason
    assert result.violations == []


def test_a_run_whose_record_was_cut_short_did_not_end(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 x* a^x")
    damages.changed(damages.processes, lambda body: body[:1])(directory)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert _missing(judgement) == {"processes", "in-time"}
    assert "scheduler never started" in judgement.reason
    assert "the phase 'ended' is missing: the record of the run was cut short" in judgement.reason


def _acknowledged(
    directory: directories.RunDirectory, rv: str, devices: list[str] | None, *, name: str = "a"
) -> None:
    call = msgspec.structs.replace(
        building.invocation(99, "resourceclaims/status", name), verb="update"
    )
    answer = msgspec.structs.replace(
        building.acknowledgement(99, f"uid-{name}", 0), resource_version=rv, devices=devices
    )
    damages.appended(damages.operations, call, answer)(directory)


def test_a_claim_has_the_devices_that_were_acknowledged(tmp_path: pathlib.Path) -> None:
    sound = building.build(tmp_path / "sound", "a+D1 a^x b+D2")
    _acknowledged(sound, "2", ["gpu.example/pool/D1"])
    assert _missing(judging.judge(sound)) == set()
    other = building.build(tmp_path / "other", "a+D1 a^x b+D2")
    _acknowledged(other, "2", ["gpu.example/pool/D9"])
    judgement = judging.judge(other)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert _missing(judgement) == {"acknowledged"}
    assert (
        "traffic-0: update resourceclaims/status tests/a at resourceVersion 2 was acknowledged "
        "with gpu.example/pool/D9, and observed otherwise"
    ) in judgement.reason


@pytest.mark.parametrize("devices", [["gpu.example/pool/D9"], []])
def test_only_the_write_that_differs_is_told(tmp_path: pathlib.Path, devices: list[str]) -> None:
    directory = building.build(tmp_path / "run", "a+D1 a^x b+D2")
    _acknowledged(directory, "2", devices)
    _acknowledged(directory, "3", ["gpu.example/pool/D2"], name="b")
    _acknowledged(directory, "1", None)
    [item] = [item for item in judging.judge(directory).certificate if not item.ok]
    assert item.reason.startswith("traffic-0: update resourceclaims/status tests/a at resourceVer")


def test_a_hold_in_a_changed_observation_is_no_violation(tmp_path: pathlib.Path) -> None:
    """The server answered that claim a has nothing, and the watch shows the device of b."""
    directory = building.build(tmp_path / "run", "c+D2 a+D1 b+D1 a-D1")
    _acknowledged(directory, "2", [])
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "was acknowledged without devices, and observed otherwise" in judgement.reason


@pytest.mark.parametrize("version", ["9" * 30, "9" * 5000, "-1", "x", ""])
def test_a_strange_version_is_no_write(tmp_path: pathlib.Path, version: str) -> None:
    directory = building.build(tmp_path / "run", "a+D1 a^x b+D2")
    _acknowledged(directory, version, ["gpu.example/pool/D1"])
    assert judging.judge(directory).verdict is verdicts.Verdict.VALID


def test_an_acknowledged_version_that_was_not_observed_is_named(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 a^x b+D2")
    call = msgspec.structs.replace(
        building.invocation(99, "resourceclaims/status", "a"), verb="update"
    )
    damages.appended(damages.operations, call, building.acknowledgement(99, "uid-a", 3))(directory)
    judgement = judging.judge(directory)
    assert _missing(judgement) == {"acknowledged"}
    assert (
        "traffic-0: update resourceclaims/status tests/a at resourceVersion 3 was acknowledged "
        "and never observed"
    ) in judgement.reason

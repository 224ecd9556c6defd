"""Recorded runs with one thing changed, and trailer and manifest made right.

A deletion, an allocation or a claim that is missing is noticed, and every line that is taken out of
the audit log; the object is named. A verdict that was copied here is refused.
"""

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from harness.checks import judging, verdicts
from harness.checks.witness import audit_events
from harness.report import publishing
from tests.histories import specimens

RECORDED = {item.name: item for item in specimens.recorded()}
VALID = RECORDED["recorded/VALID-pod-churn"]
INVALID = RECORDED["recorded/INVALID-pod-churn"]
OBSERVATIONS, LOG = "observations.jsonl", "audit/audit.log"
COMPARED = ("resourceclaims", "pods")
Lines = list[bytes]


def _observed(lines: Lines, *kinds: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The observations of claims and pods of these types, with their places."""
    for index, line in enumerate(lines):
        record = json.loads(line)
        if record.get("resource") in COMPARED and record.get("type") in kinds:
            yield index, record


def _sealed(name: str, lines: Lines) -> dict[str, bytes]:
    """The file with these records and a trailer that counts them."""
    count = b'"count":%d,"ts_ns"' % (len(lines) - 2)
    trailer = re.sub(rb'"count":\d+,"ts_ns"', count, lines[-1])
    return {name: specimens.pack(name, [*lines[:-1], trailer])}


def _judge(
    folder: pathlib.Path, chosen: specimens.Specimen, changed: dict[str, bytes]
) -> tuple[verdicts.Verdict, str]:
    """The verdict on a run with these changes, and its reason; the folder can be used again."""
    directory = specimens.write(chosen, folder / "run", changed)
    judgement = judging.judge(directory)
    specimens.restore(chosen, directory, changed)
    return judgement.verdict, judgement.reason


def test_each_deletion_that_is_taken_out_is_noticed(tmp_path: pathlib.Path) -> None:
    lines = VALID.journals[OBSERVATIONS]
    places = [index for index, _ in _observed(lines, "DELETED")]
    assert len(places) > 5
    for index in places:
        without = _sealed(OBSERVATIONS, [*lines[:index], *lines[index + 1 :]])
        verdict, reason = _judge(tmp_path, VALID, without)
        assert verdict is verdicts.Verdict.UNKNOWN
        assert json.loads(lines[index])["object"]["metadata"]["name"] in reason


def test_each_allocation_that_is_changed_is_noticed(tmp_path: pathlib.Path) -> None:
    lines = VALID.journals[OBSERVATIONS]
    for index, record in _observed(lines, "MODIFIED"):
        allocation = record["object"]["status"].pop("allocation", None)
        if allocation is None:
            continue
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        changed = _sealed(OBSERVATIONS, [*lines[:index], line, *lines[index + 1 :]])
        verdict, reason = _judge(tmp_path, VALID, changed)
        assert verdict is verdicts.Verdict.UNKNOWN
        assert record["object"]["metadata"]["name"] in reason


def test_each_write_that_is_taken_out_of_the_log_is_noticed(tmp_path: pathlib.Path) -> None:
    lines = VALID.files[LOG].splitlines(keepends=True)
    told = [list(audit_events.facts(audit_events.decode(line))) for line in lines]
    assert sum(map(bool, told)) > 30
    for index, facts in enumerate(told):
        without = {LOG: b"".join([*lines[:index], *lines[index + 1 :]])}
        verdict, reason = _judge(tmp_path, VALID, without)
        if not facts:
            assert verdict is verdicts.Verdict.VALID
            continue
        name = json.loads(lines[index])["objectRef"].get("name")
        answer = json.loads(lines[index]).get("responseObject") or {}
        assert verdict is verdicts.Verdict.UNKNOWN, (index, lines[index])
        assert (name or answer["metadata"]["name"]) in reason


def test_a_claim_without_its_records_is_noticed(tmp_path: pathlib.Path) -> None:
    """Once, a run in which a device was given away twice was VALID without the second claim."""
    lines = INVALID.journals[OBSERVATIONS]
    uids = {
        record["object"]["metadata"]["uid"]: record["object"]["metadata"]["name"]
        for _, record in _observed(lines, "ADDED")
        if record["resource"] == "resourceclaims"
    }
    assert len(uids) > 2
    for uid, name in uids.items():
        own = [b'"uid":"%b"' % uid.encode() in line for line in lines]
        kept = [line for line, is_own in zip(lines, own, strict=True) if not is_own]
        verdict, reason = _judge(tmp_path, INVALID, _sealed(OBSERVATIONS, kept))
        assert verdict is not verdicts.Verdict.VALID
        assert name in reason or verdict is verdicts.Verdict.INVALID


# --------------------------------------------------------------------------- another verdict


def test_a_verdict_that_was_copied_here_is_refused(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    """No green page about a run that is INVALID."""
    sound = specimens.write(VALID, tmp_path / "sound", {})
    publishing.publish(judging.examine(sound))
    broken = specimens.write(INVALID, tmp_path / "broken", {})
    sound.verdict.replace(broken.verdict)
    code, out, err = flake_hunt("report", str(broken.path))
    assert (code, out) == (2, "")
    assert "expected the verdict on run" in err
    assert not [path for path in broken.pages() if path.exists()]
    code, out, _ = flake_hunt("check", str(broken.path))
    assert (code, out.split()[0]) == (10, "INVALID")
    assert "<failure" in broken.junit.read_text()

"""The writes of others are not counted against the subject, and the writers are named."""

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.history import records
from tests.histories import building, judged_runs

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
OURS, KUBECTL = "flake-hunt-scheduler", "kubectl/v1.36.2 (linux/amd64) kubernetes/0d9b5a1"
SETTINGS: dict[str, Any] = {
    "traffic": {"clients": 1},
    "subject": {"schedulers": [{"kind": "python", "scheduler_name": "one"}]},
}
BOUND = "p:a a+D1 a^p p>n p*"


def _judged(
    folder: pathlib.Path,
    text: str,
    others: Mapping[int, str],
    *,
    settings: Mapping[str, Any] = SETTINGS,
    agent: str = OURS,
) -> verdict_files.Judgement:
    """Judge a history; `others` are the programs that made some of its revisions."""
    changes = {"settings": settings}
    directory = building.build(folder / "run", text, audited=True, changes=changes)
    (log,) = directory.audit_logs()
    events = [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]
    for event in events:
        meta = (event.get("responseObject") or {}).get("metadata") or {}
        version = int(meta.get("resourceVersion", 0))
        event["userAgent"] = others.get(version, agent)
    log.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return judging.judge(directory)


@pytest.mark.parametrize(
    ("check", "text", "version"),
    [("claims_in_use", f"{BOUND} a/p", 6), ("device_exclusivity", "a+D1 b+D1", 2)],
    ids=[
        "a reservation removed by hand",
        "a device allocated by hand, although another claim has it",
    ],
)
def test_what_someone_else_has_written_is_theirs(
    tmp_path: pathlib.Path, check: str, text: str, version: int
) -> None:
    mine = judged_runs.result(_judged(tmp_path / "mine", text, {}), check)
    assert mine.verdict is INVALID
    theirs = _judged(tmp_path / "theirs", text, {version: KUBECTL})
    result = judged_runs.result(theirs, check)
    assert result.verdict is VALID
    assert theirs.verdict is not INVALID
    if theirs.verdict is VALID:
        assert f"{check}: 1 violation by kubectl" in theirs.reason
    assert "1 violation by kubectl/v1.36.2 (user system:admin) left out" in result.reason


def test_what_a_part_of_the_run_has_written_stays(tmp_path: pathlib.Path) -> None:
    manager = "kube-controller-manager"
    parts = ("flake-hunt", f"{manager}/v1.36.2 (linux/amd64)", f"{manager}-1.36.3/v0.0.0", "")
    for number, agent in enumerate(parts):
        judged = _judged(tmp_path / str(number), f"{BOUND} a/p", {6: agent})
        assert judged_runs.result(judged, "claims_in_use").verdict is INVALID


@pytest.mark.parametrize(
    ("subject", "pools", "verdict"),
    [
        ({"claim_controller": {"kind": "kcm", "binary": "/opt/kube-scheduler"}}, {}, INVALID),
        ({"claim_controller": {"kind": "kcm", "binary": "/opt/kcm"}}, {}, VALID),
        ({"driver": "command=/opt/kube-scheduler --name x"}, {}, INVALID),
        ({"driver": "command=x kube-scheduler"}, {}, VALID),
        ({"driver": "socket"}, {"more": [{"driver": "kube-scheduler"}]}, INVALID),
        ({"driver": "socket"}, {"imported": {"drivers": ["kube-scheduler"]}}, INVALID),
    ],
)
def test_what_the_claim_controller_or_a_driver_has_written_stays(
    tmp_path: pathlib.Path, subject: Any, pools: Any, verdict: verdicts.Verdict
) -> None:
    """Go programs are named after their files; another name is another program."""
    given = SETTINGS | {"subject": SETTINGS["subject"] | subject, "pools": pools}
    judged = _judged(tmp_path, f"{BOUND} a/p", {6: "kube-scheduler/v1"}, settings=given)
    assert judged_runs.result(judged, "claims_in_use").verdict is verdict


def test_other_violations_stay_and_are_counted(tmp_path: pathlib.Path) -> None:
    text = f"{BOUND} a/p q:b b+D2 b^q q>n b/q b^r"
    judged = _judged(tmp_path, text, {6: KUBECTL, 12: KUBECTL})
    result = judged_runs.result(judged, "claims_in_use")
    assert (result.verdict, result.violation_count, len(result.violations)) == (INVALID, 1, 1)
    assert result.reason == (
        "claim b lost its reservation while pod q used it; "
        "1 violation by kubectl/v1.36.2 (user system:admin) left out"
    )


def test_what_follows_from_a_change_by_someone_else_is_in_doubt(tmp_path: pathlib.Path) -> None:
    """The reservation came by hand before, and goes by the scheduler's write."""
    text = "p:a a+D1 a^p p>n p* a^q a/p r:b b+D2 b^r r>n b/r"
    judged = _judged(tmp_path, text, {6: KUBECTL, 12: KUBECTL})
    result = judged_runs.result(judged, "claims_in_use")
    assert result.verdict is UNKNOWN
    assert "kubectl" in result.reason


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({"subject": {"schedulers": [{"kind": "command"}]}}, UNKNOWN),
        ({"subject": {"schedulers": [{"kind": "external"}]}}, UNKNOWN),
        ({"subject": {**SETTINGS["subject"], "claim_controller": "external"}}, UNKNOWN),
    ],
)
def test_a_subject_of_which_no_name_is_known_may_use_a_tool(
    tmp_path: pathlib.Path, settings: dict[str, Any], verdict: verdicts.Verdict
) -> None:
    given = SETTINGS | settings
    one = _judged(tmp_path / "tool", f"{BOUND} a/p", {6: KUBECTL}, settings=given)
    assert judged_runs.result(one, "claims_in_use").verdict is verdict
    other = _judged(tmp_path / "own", f"{BOUND} a/p", {6: "mine/1.0"}, settings=given)
    assert judged_runs.result(other, "claims_in_use").verdict is INVALID


def test_what_someone_else_had_allocated_before_is_in_doubt(tmp_path: pathlib.Path) -> None:
    """The scheduler may not have seen it yet, but it must look."""
    judged = _judged(tmp_path, "a+D1 b+D1", {1: KUBECTL})
    result = judged_runs.result(judged, "device_exclusivity")
    assert (judged.verdict, result.verdict) == (UNKNOWN, UNKNOWN)
    assert "kubectl" in judged.reason


def test_a_log_without_a_known_part_tells_nothing(tmp_path: pathlib.Path) -> None:
    judged = _judged(tmp_path, f"{BOUND} a/p", {6: "someone/1"}, agent="tests")
    assert judged_runs.result(judged, "claims_in_use").verdict is INVALID


def _unaudited(
    folder: pathlib.Path, managers: Callable[[int], list[str]]
) -> verdict_files.Judgement:
    """Judge a history without an audit log, whose versions have these managers of the status."""
    directory = building.build(folder / "run", f"{BOUND} a/p", changes={"settings": SETTINGS})
    lines = []
    for line in directory.observations.read_bytes().splitlines():
        record = msgspec.json.decode(line)
        if record["record"] == "observation":
            record["object"]["metadata"]["managedFields"] = [
                {"manager": name, "subresource": "status", "fieldsV1": {"f:status": {}}}
                for name in managers(record["resource_version"])
            ]
        lines.append(msgspec.json.encode(record))
    directory.observations.write_bytes(b"\n".join(lines) + b"\n")
    return judging.judge(directory)


def test_without_an_audit_log_a_strange_manager_is_doubt(tmp_path: pathlib.Path) -> None:
    """A client chooses the name, so that it does not clear anyone."""
    strange = _unaudited(
        tmp_path / "strange", lambda version: [OURS, *(["my-operator"] if version >= 6 else [])]
    )
    result = judged_runs.result(strange, "claims_in_use")
    assert result.verdict is UNKNOWN
    assert "by my-operator left out" in result.reason
    known = _unaudited(tmp_path / "known", lambda version: [OURS, "ResourceClaimController"])
    assert judged_runs.result(known, "claims_in_use").verdict is INVALID
    silent = _unaudited(tmp_path / "silent", lambda version: [])
    assert judged_runs.result(silent, "claims_in_use").verdict is INVALID


# ------------------------------------------------------------------- what a script has written


def _patched(
    folder: pathlib.Path,
    text: str,
    version: int,
    *,
    uid: str = "uid-a",
    verb: str = "patch",
    profile: str = "script",
) -> verdict_files.Judgement:
    """Judge a history in which a script has made a version of claim a."""
    steps = [{"do": "wait", "seconds": 1}]
    changes = {
        "settings": {"traffic": {"profile": profile, "steps": steps}},
        "expected_operations": ["traffic-0", "kubelet", "script"],
    }
    directory = building.build(folder / "run", text, changes=changes)
    call: Any = building.invocation(0, "resourceclaims/status", "a")
    calls = [msgspec.structs.replace(call, verb=verb), building.acknowledgement(0, uid, version)]
    building.write(directory.operations("script"), calls, process="script")
    played = records.ScriptStep(step=1, text="1 s passes", begun_ns=0, ended_ns=1)
    building.write(directory.script, [played], process="script")
    return judging.judge(directory)


@pytest.mark.parametrize(
    ("check", "text", "version", "earlier", "uid"),
    [
        ("claims_in_use", f"{BOUND} a/p", 6, 3, "uid-a"),
        ("device_exclusivity", "b+D1 a+D1", 2, 1, "uid-b"),
    ],
)
def test_what_a_script_has_patched_is_not_the_subjects(
    tmp_path: pathlib.Path, check: str, text: str, version: int, earlier: int, uid: str
) -> None:
    result = judged_runs.result(_patched(tmp_path / "script", text, version), check)
    assert result.verdict is VALID
    assert "1 violation by the script left out" in result.reason
    for judgement in (
        _patched(tmp_path / "earlier", text, earlier, uid=uid),
        _patched(tmp_path / "created", text, version, verb="create"),
        _patched(tmp_path / "load", text, version, profile="churn"),
    ):
        assert judged_runs.result(judgement, check).verdict is INVALID

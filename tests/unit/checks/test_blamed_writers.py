"""The writes of others are not counted against the subject, and the writers are named."""

import pathlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec
import pytest

from harness.apiserver.server import audit_log
from harness.checks import check_registry, judging, protocol, verdict_files, verdicts
from harness.history import directories, plans, records
from tests.histories import building, judged_runs, language
from tests.support import cases

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
OURS, KUBECTL = "flake-hunt-scheduler", "kubectl/v1.36.2 (linux/amd64) kubernetes/0d9b5a1"
SETTINGS: dict[str, Any] = {
    "traffic": {"clients": 1},
    "subject": {"schedulers": [{"kind": "python", "scheduler_name": "one"}]},
}
BOUND = "p:a a+D1 a^p p>n p*"
LOST = f"{BOUND} a/p"


def _judged(
    folder: pathlib.Path,
    text: str,
    others: Mapping[int, str],
    *,
    settings: Mapping[str, Any] = SETTINGS,
    agent: str = OURS,
    user: str = "system:admin",
    bound: Collection[int] = (),
    again: int = 0,
    lost: int = 0,
    names: language.Names | None = None,
    **changes: Any,
) -> verdict_files.Judgement:
    """Judge a history; `others` are the programs that made some of its revisions, as this user.

    The revisions `bound` are bindings of pods, whose answers have no revision. The log has the
    writes of claims in another order. The revision `again` answers a write that changed nothing,
    and `lost` one that a server logged and did not commit before it was killed.
    """
    changes |= {"settings": settings}
    folder /= "run"
    text = text.replace("BOUND", BOUND)
    directory = building.build(folder, text, names=names, audited=True, changes=changes)
    (log,) = directory.audit_logs()
    events = [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]
    for event in events:
        meta = (event.get("responseObject") or {}).get("metadata") or {}
        version = int(meta.get("resourceVersion", 0))
        event["userAgent"] = others.get(version, agent)
        event["user"] = {"username": user if version in others else "system:admin"}
        if not event["userAgent"]:
            del event["userAgent"], event["user"]
        if version in bound:
            binding = {
                "metadata": meta,
                "target": {"name": event["responseObject"]["spec"]["nodeName"]},
            }
            event |= {"verb": "create", "requestObject": binding, "responseObject": None}
            event["objectRef"]["subresource"] = "binding"
    claims = [event for event in events if event["objectRef"]["resource"] == language.CLAIMS]
    ordered = [*claims[::-1], *(event for event in events if event not in claims)]
    if again:
        ordered.append(events[again - 1] | {"userAgent": KUBECTL})
    if lost:
        restored = events[0] | {"annotations": {audit_log.RESTORED: str(lost - 1)}}
        ordered[:0] = [events[lost - 1] | {"userAgent": KUBECTL}, restored]
    log.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in ordered))
    return judging.judge(directory)


def _loss(folder: pathlib.Path, others: Mapping[int, str], **options: Any) -> verdicts.CheckResult:
    """The answer about a reservation that goes at revision 6."""
    return judged_runs.result(_judged(folder, LOST, others, **options), "claims_in_use")


@pytest.mark.parametrize(("check", "text", "version"), cases.params(__file__, "theirs"))
def test_what_someone_else_has_written_is_theirs(
    tmp_path: pathlib.Path, check: str, text: str, version: int
) -> None:
    mine = judged_runs.result(_judged(tmp_path / "mine", text, {}), check)
    assert mine.verdict is INVALID
    assert verdicts.LEFT_OUT not in mine.reason
    theirs = _judged(tmp_path / "theirs", text, {version: KUBECTL})
    result = judged_runs.result(theirs, check)
    assert result.verdict is VALID
    assert theirs.verdict is not INVALID
    if theirs.verdict is VALID:
        assert f"{check}: 1 violation by kubectl" in theirs.reason
    assert "1 violation by kubectl/v1.36.2 (user system:admin) left out" in result.reason


@pytest.mark.parametrize(("agent", "user", "verdict"), cases.params(__file__, "parts_of_the_run"))
def test_what_a_part_of_the_run_has_written_stays(
    tmp_path: pathlib.Path, agent: str, user: str, verdict: str
) -> None:
    assert _loss(tmp_path, {6: agent}, user=user).verdict == verdict


@pytest.mark.parametrize(("binder", "verdict"), [(OURS, INVALID), (KUBECTL, VALID)])
def test_the_violation_of_a_pod_that_someone_else_has_bound_is_theirs(
    tmp_path: pathlib.Path, binder: str, verdict: verdicts.Verdict
) -> None:
    assert _loss(tmp_path, {4: binder}, bound=[4]).verdict is verdict


@pytest.mark.parametrize(
    ("check", "text", "version", "options"), cases.params(__file__, "no_doubt")
)
def test_what_someone_else_wrote_otherwise_is_no_doubt(
    tmp_path: pathlib.Path, check: str, text: str, version: int, options: Any
) -> None:
    judged = _judged(tmp_path, text, {version: KUBECTL}, **options)
    assert judged_runs.result(judged, check).verdict is INVALID


@pytest.mark.parametrize(
    ("count", "first", "verdict", "left"),
    [(21, 5, VALID, 0), (22, 5, UNKNOWN, 0), (25, 10, INVALID, 5)],
)
def test_violations_that_are_not_listed_may_be_the_subjects(
    tmp_path: pathlib.Path, count: int, first: int, verdict: verdicts.Verdict, left: int
) -> None:
    """At most 21 of the violations are listed."""
    each = "p{0}:a{0} a{0}+D{0} a{0}^p{0} p{0}>n a{0}/p{0}"
    text = " ".join(each.format(number) for number in range(1, count + 1))
    judged = _judged(tmp_path, text, dict.fromkeys(range(first, 5 * count + 1, 5), KUBECTL))
    result = judged_runs.result(judged, "claims_in_use")
    assert (result.verdict, result.violation_count) == (verdict, left)


@pytest.mark.parametrize(("subject", "pools", "verdict"), cases.params(__file__, "programs"))
def test_what_the_claim_controller_or_a_driver_has_written_stays(
    tmp_path: pathlib.Path, subject: Any, pools: Any, verdict: str
) -> None:
    """Go programs are named after their files; another name is another program."""
    given = SETTINGS | {"subject": SETTINGS["subject"] | subject, "pools": pools}
    assert _loss(tmp_path, {6: "kube-scheduler/v1"}, settings=given).verdict == verdict


def test_other_violations_stay_and_are_counted(tmp_path: pathlib.Path) -> None:
    text = f"{BOUND} a/p q:b b+D2 b^q q>n b/q b^r"
    judged = _judged(tmp_path, text, {6: KUBECTL, 12: KUBECTL})
    result = judged_runs.result(judged, "claims_in_use")
    assert (result.verdict, result.violation_count, len(result.violations)) == (INVALID, 1, 1)
    assert result.reason == (
        "claim b lost its reservation while pod q used it; "
        "1 violation by kubectl/v1.36.2 (user system:admin) left out"
    )


@pytest.mark.parametrize(
    ("text", "versions"),
    [("p:a a+D1 a^p p>n p* a^q a/p r:b b+D2 b^r r>n b/r", [6, 12]), (f"{BOUND} a/p", [5])],
    ids=["the reservation came by hand", "the pod ran by hand"],
)
def test_what_follows_from_a_change_by_someone_else_is_in_doubt(
    tmp_path: pathlib.Path, text: str, versions: list[int]
) -> None:
    """The reservation goes by the scheduler's write."""
    judged = _judged(tmp_path, text, dict.fromkeys(versions, KUBECTL))
    result = judged_runs.result(judged, "claims_in_use")
    assert result.verdict is UNKNOWN
    assert "kubectl" in result.reason


@pytest.mark.parametrize(("subject", "tool", "packages"), cases.params(__file__, "tools"))
def test_a_subject_of_which_no_name_is_known_may_use_a_tool(
    tmp_path: pathlib.Path, subject: Any, tool: str, packages: list[str]
) -> None:
    settings = SETTINGS | {"subject": SETTINGS["subject"] | subject}
    plugins = [
        plans.UsedPlugin(kind="checks", name=name, package=name, version="1") for name in packages
    ]
    options: Any = {"settings": settings, "plugins": plugins}
    assert _loss(tmp_path / "tool", {6: tool}, **options).verdict is UNKNOWN
    assert _loss(tmp_path / "own", {6: "mine/1.0"}, **options).verdict is INVALID
    binds = _loss(tmp_path / "binds", {4: tool, 6: tool}, **options, bound=[4])
    assert binds.verdict is INVALID, "it binds the pods by this tool"
    two, half = "BOUND q:b b+D2 b^q q>n a/p", {4: tool, 10: tool}
    one_of_two = _judged(tmp_path / "half", two, half, **options, bound=[4, 9])
    assert judged_runs.result(one_of_two, "claims_in_use").verdict is UNKNOWN


@pytest.mark.parametrize("settings", [{}, {"subject": {}}])
def test_a_run_whose_subject_is_not_known_is_judged(tmp_path: pathlib.Path, settings: Any) -> None:
    judged = _judged(tmp_path, "a+D1 b+D1", {2: KUBECTL}, settings=settings)
    assert judged_runs.result(judged, "device_exclusivity").verdict is VALID


def test_what_someone_else_had_allocated_before_is_in_doubt(tmp_path: pathlib.Path) -> None:
    """The scheduler may not have seen it yet, but it must look."""
    judged = _judged(tmp_path, "a+D1 b+D1", {1: KUBECTL})
    result = judged_runs.result(judged, "device_exclusivity")
    assert (judged.verdict, result.verdict) == (UNKNOWN, UNKNOWN)
    assert "kubectl" in judged.reason


Managers = Callable[[str, int], list[str]]
"""The managers of the status, or of the labels alone, `…+`, of a version of a resource."""


def _managed(directory: directories.RunDirectory, managers: Managers) -> verdict_files.Judgement:
    """Judge a history whose versions have these managers."""
    lines = []
    for line in directory.observations.read_bytes().splitlines():
        record = msgspec.json.decode(line)
        if record["record"] == "observation":
            record["object"]["metadata"]["managedFields"] = [
                {"manager": name, "fieldsV1": {"f:metadata" if "+" in name else "f:status": {}}}
                for name in managers(record["resource"], record["resource_version"])
            ]
        lines.append(msgspec.json.encode(record))
    directory.observations.write_bytes(b"\n".join(lines) + b"\n")
    return judging.judge(directory)


@pytest.mark.parametrize(
    ("first", "last", "of_events", "verdict"), cases.params(__file__, "managers")
)
def test_without_an_audit_log_a_strange_manager_is_doubt(
    tmp_path: pathlib.Path, first: list[str], last: list[str], of_events: list[str], verdict: str
) -> None:
    """A client chooses the name, so that it does not clear anyone."""

    def managers(resource: str, version: int) -> list[str]:
        return of_events if resource == language.EVENTS else last if version >= 6 else first

    resources = [language.CLAIMS, language.PODS, language.EVENTS]
    changes = {"settings": SETTINGS, "resources": resources}
    text = f"{LOST} ."
    seen = language.observe(text, resources=resources)
    directory = building.build(tmp_path / "run", text, changes=changes, observations=seen)
    result = judged_runs.result(_managed(directory, managers), "claims_in_use")
    assert result.verdict == verdict
    assert ("by my-operator left out" in result.reason) is (result.verdict is UNKNOWN)


def test_a_log_without_a_known_part_tells_nothing_and_no_managers_are_asked_beside_it(
    tmp_path: pathlib.Path,
) -> None:
    assert _loss(tmp_path, {6: "someone/1"}, agent="tests").verdict is INVALID
    directory = directories.RunDirectory(tmp_path / "run")
    judged = _managed(directory, lambda _, version: [OURS])
    assert judged_runs.result(judged, "claims_in_use").verdict is INVALID


@pytest.mark.parametrize("audited", [True, False])
def test_a_violation_that_no_revision_shows_is_reviewed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, audited: bool
) -> None:
    node = verdicts.InvolvedObject(kind="Node", namespace="", name="n", uid="")
    wrong = verdicts.Violation(
        guarantee="x", summary="x", text="x", resource_versions=[], objects=[node]
    )
    found = judged_runs.answered("x", INVALID, 1, violations=[wrong])
    check = protocol.Check(name="x", promise="x", judge=lambda _: found)
    monkeypatch.setattr(check_registry, "CHECKS", [check])
    judged = judging.judge(building.build(tmp_path / "run", BOUND, audited=audited))
    assert judged_runs.result(judged, "x").verdict is INVALID


def test_the_writers_of_known_programs_are_others(tmp_path: pathlib.Path) -> None:
    kinds = [{"kind": kind} for kind in ("python", "kube-scheduler", "cluster")]
    given = SETTINGS | {"subject": {"schedulers": kinds}}
    assert _loss(tmp_path, {6: KUBECTL}, settings=given).verdict is VALID


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
    directory = building.build(folder / "run", text.replace("BOUND", BOUND), changes=changes)
    call: Any = building.invocation(0, "resourceclaims/status", "a")
    calls = [msgspec.structs.replace(call, verb=verb), building.acknowledgement(0, uid, version)]
    building.write(directory.operations("script"), calls, process="script")
    played = records.ScriptStep(step=1, text="1 s passes", begun_ns=0, ended_ns=1)
    building.write(directory.script, [played], process="script")
    return judging.judge(directory)


@pytest.mark.parametrize(
    ("check", "text", "version", "earlier", "uid"), cases.params(__file__, "scripts")
)
def test_what_a_script_has_patched_is_not_the_subjects(
    tmp_path: pathlib.Path,
    check: str,
    text: str,
    version: int,
    earlier: int,
    uid: str,
    monkeypatch: pytest.MonkeyPatch,
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
    (tmp_path / "script" / "run" / "operations-script.jsonl").unlink()
    unknown = judging.judge(directories.RunDirectory(tmp_path / "script" / "run"))
    assert judged_runs.result(unknown, check).verdict is INVALID
    at_rest = [msgspec.structs.replace(item, at_rest=True) for item in check_registry.CHECKS]
    monkeypatch.setattr(check_registry, "CHECKS", at_rest)
    judgement = _patched(tmp_path / "rest", text, version)
    assert judged_runs.result(judgement, check).verdict is INVALID

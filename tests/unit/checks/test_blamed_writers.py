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

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
OURS, KUBECTL = "flake-hunt-scheduler", "kubectl/v1.36.2 (linux/amd64) kubernetes/0d9b5a1"
SETTINGS: dict[str, Any] = {
    "traffic": {"clients": 1},
    "subject": {"schedulers": [{"kind": "python", "scheduler_name": "one"}]},
}
MINE = plans.UsedPlugin(kind="checks", name="mine", package="mine", version="1")
BOUND = "p:a a+D1 a^p p>n p*"


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


@pytest.mark.parametrize(
    ("check", "text", "version"),
    [
        ("claims_in_use", f"{BOUND} a/p", 6),
        ("device_exclusivity", "a+D1 b+D1", 2),
        ("device_exclusivity", "a+D1 b+D1 a-D1", 2),
    ],
    ids=[
        "a reservation removed by hand",
        "a device allocated by hand, although another claim has it",
        "… and then has it no more",
    ],
)
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


MANAGER = "kube-controller-manager"


@pytest.mark.parametrize(
    ("agent", "user", "verdict"),
    [
        ("flake-hunt", "", INVALID),
        (f"{MANAGER}/v1.36.2 (linux/amd64)", "", INVALID),
        (f"{MANAGER}-1.36.3/v0.0.0", "", INVALID),
        ("kubelet-v1.36/v1", "", INVALID),
        ("kube-apiserver/v1", "", INVALID),
        ("", "", INVALID),
        ("x", "system:serviceaccount:kube-system:x", INVALID),
        ("x", "system:node:n", INVALID),
        ("x", "system:apiserver", INVALID),
        ("x", "system:serviceaccount:tests:x", VALID),
        ("kubelet-mine/v1", "", VALID),
        ("x-flake-hunt", "", VALID),
    ],
)
def test_what_a_part_of_the_run_has_written_stays(
    tmp_path: pathlib.Path, agent: str, user: str, verdict: verdicts.Verdict
) -> None:
    judged = _judged(tmp_path, f"{BOUND} a/p", {6: agent}, user=user)
    assert judged_runs.result(judged, "claims_in_use").verdict is verdict


@pytest.mark.parametrize(("binder", "verdict"), [(OURS, INVALID), (KUBECTL, VALID)])
def test_the_violation_of_a_pod_that_someone_else_has_bound_is_theirs(
    tmp_path: pathlib.Path, binder: str, verdict: verdicts.Verdict
) -> None:
    judged = _judged(tmp_path, f"{BOUND} a/p", {4: binder}, bound=[4])
    assert judged_runs.result(judged, "claims_in_use").verdict is verdict


@pytest.mark.parametrize(
    ("check", "text", "version", "options"),
    [
        ("claims_in_use", f"{BOUND} a/p a^r", 7, {}),
        ("claims_in_use", f"{BOUND} a/p", 1, {}),
        ("claims_in_use", f"{BOUND} a/p", 2, {}),
        ("claims_in_use", f"a+D1 a~ {BOUND} a/p", 4, {}),
        ("claims_in_use", "p:a a+D1 a^p a^p p>n p* a/p", 4, {}),
        ("claims_in_use", f"{BOUND} a/p", 0, {"again": 6}),
        ("claims_in_use", f"{BOUND} a/p", 0, {"lost": 6}),
        ("claims_in_use", f"p:b p>n p~ {BOUND} a/p", 2, {"bound": [2, 7]}),
        ("claims_in_use", f"{BOUND} a~", 6, {}),
        ("device_exclusivity", "a+D1 b= b^r b+D1", 3, {}),
        ("device_exclusivity", "a+D1 b+D1 a-D1", 3, {}),
        ("device_exclusivity", "p:b p>n a+D1 b+D1", 2, {"names": {"p": "a"}, "bound": [2]}),
    ],
    ids=[
        "later",
        "made the pod",
        "made the claim",
        "made the claim of the same name",
        "changed nothing",
        "wrote it again",
        "wrote what was lost",
        "bound a pod of the same name",
        "deleted the claim",
        "changed no device",
        "freed the device",
        "bound a pod of the claim's name",
    ],
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


@pytest.mark.parametrize(
    ("subject", "pools", "verdict"),
    [
        ({"claim_controller": {"kind": "kcm", "binary": "/opt/kube-scheduler"}}, {}, INVALID),
        ({"claim_controller": {"kind": "kcm", "binary": "/opt/kcm"}}, {}, VALID),
        ({"schedulers": [{"kind": "kube-scheduler"}]}, {}, INVALID),
        ({"schedulers": [{"kind": "cluster"}]}, {}, INVALID),
        ({"schedulers": [{"kind": "python", "binary": "/opt/kube-scheduler"}]}, {}, INVALID),
        ({"schedulers": [{}]}, {}, VALID),
        ({"driver": "socket"}, {"driver": "kube-scheduler"}, INVALID),
        ({"driver": "embedded"}, {"driver": "kube-scheduler"}, VALID),
        ({"driver": "socket=/run/kube-scheduler"}, None, VALID),
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


@pytest.mark.parametrize(
    ("subject", "tool", "plugins"),
    [
        ({"schedulers": [{"kind": "command"}]}, KUBECTL, []),
        ({"schedulers": [{"kind": "external"}]}, "helm/v3", []),
        ({"schedulers": [{"kind": "external"}]}, "kubectl-neat/1", []),
        ({"schedulers": [{"kind": "python"}, {"kind": "external"}]}, "Lens/5", []),
        ({"claim_controller": "external"}, "k9s", []),
        ({}, "curl/8", [MINE]),
    ],
)
def test_a_subject_of_which_no_name_is_known_may_use_a_tool(
    tmp_path: pathlib.Path, subject: dict[str, Any], tool: str, plugins: Any
) -> None:
    options: Any = {"settings": SETTINGS | {"subject": SETTINGS["subject"] | subject}}
    options |= {"plugins": plugins}
    text, check = f"{BOUND} a/p", "claims_in_use"
    one = _judged(tmp_path / "tool", text, {6: tool}, **options)
    assert judged_runs.result(one, check).verdict is UNKNOWN
    other = _judged(tmp_path / "own", text, {6: "mine/1.0"}, **options)
    assert judged_runs.result(other, check).verdict is INVALID
    binds = _judged(tmp_path / "binds", text, {4: tool, 6: tool}, **options, bound=[4])
    assert judged_runs.result(binds, check).verdict is INVALID, "it binds the pods by this tool"
    two, half = f"{BOUND} q:b b+D2 b^q q>n a/p", {4: tool, 10: tool}
    one_of_two = _judged(tmp_path / "half", two, half, **options, bound=[4, 9])
    assert judged_runs.result(one_of_two, check).verdict is UNKNOWN


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


def test_a_log_without_a_known_part_tells_nothing(tmp_path: pathlib.Path) -> None:
    judged = _judged(tmp_path, f"{BOUND} a/p", {6: "someone/1"}, agent="tests")
    assert judged_runs.result(judged, "claims_in_use").verdict is INVALID


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


STRANGE = "my-operator"
MANAGERS: dict[str, tuple[Managers, verdicts.Verdict]] = {
    "strange": (lambda _, version: [OURS, *([STRANGE] if version >= 6 else [])], UNKNOWN),
    "known": (lambda _, version: [OURS, "ResourceClaimController"], INVALID),
    "of labels": (lambda _, version: [OURS, f"{STRANGE}+"], INVALID),
    "none is known": (lambda _, version: [STRANGE], INVALID),
    "known of events": (
        lambda resource, _: [OURS if resource == language.EVENTS else STRANGE],
        INVALID,
    ),
    "silent": (lambda _, version: [], INVALID),
}


@pytest.mark.parametrize(("managers", "verdict"), MANAGERS.values(), ids=MANAGERS)
def test_without_an_audit_log_a_strange_manager_is_doubt(
    tmp_path: pathlib.Path, managers: Managers, verdict: verdicts.Verdict
) -> None:
    """A client chooses the name, so that it does not clear anyone."""
    resources = [language.CLAIMS, language.PODS, language.EVENTS]
    text = f"{BOUND} a/p ."
    changes = {"settings": SETTINGS, "resources": resources}
    seen = language.observe(text, resources=resources)
    directory = building.build(tmp_path / "run", text, changes=changes, observations=seen)
    result = judged_runs.result(_managed(directory, managers), "claims_in_use")
    assert result.verdict is verdict
    assert (f"by {STRANGE} left out" in result.reason) is (verdict is UNKNOWN)


def test_managers_are_not_asked_beside_a_log(tmp_path: pathlib.Path) -> None:
    _judged(tmp_path, f"{BOUND} a/p", {6: "someone/1"}, agent="tests")
    directory = directories.RunDirectory(tmp_path / "run")
    judged = _managed(directory, lambda _, version: [OURS])
    assert judged_runs.result(judged, "claims_in_use").verdict is INVALID


@pytest.mark.parametrize("audited", [True, False])
def test_a_violation_that_no_revision_shows_is_reviewed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, audited: bool
) -> None:
    wrong = verdicts.Violation(
        guarantee="x", summary="x", text="x", resource_versions=[], objects=[OBJECT]
    )
    found = judged_runs.answered("x", INVALID, 1, violations=[wrong])
    check = protocol.Check(name="x", promise="x", judge=lambda _: found)
    monkeypatch.setattr(check_registry, "CHECKS", [check])
    judged = judging.judge(building.build(tmp_path / "run", BOUND, audited=audited))
    assert judged_runs.result(judged, "x").verdict is INVALID


OBJECT = verdicts.InvolvedObject(kind="Node", namespace="", name="n", uid="")


def test_the_writers_of_known_programs_are_others(tmp_path: pathlib.Path) -> None:
    kinds = [{"kind": kind} for kind in ("python", "kube-scheduler", "cluster")]
    given = SETTINGS | {"subject": {"schedulers": kinds}}
    judged = _judged(tmp_path, f"{BOUND} a/p", {6: KUBECTL}, settings=given)
    assert judged_runs.result(judged, "claims_in_use").verdict is VALID


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
        ("device_exclusivity", "b+D1 a+D1 b-D1", 2, 3, "uid-b"),
    ],
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

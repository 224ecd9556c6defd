"""Pods and claims as the claim controller writes them, and what its check says of them.

Each word of a history is a version of a pod, or of a claim that was generated for it:

    Failed@n,one=a   the pod with this phase on node n; it records claim a for its entry one
    a:one            claim a for entry one
    a^ a~            … that is reserved for the pod; that is removed
    a+ a!            … that is allocated and has the finalizer; that is being deleted
    a- a?            … that the pod owns, but does not control; that it does not own
    [ .              the watch of the claims has a gap; something else
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claims import controller_records
from harness.history import records
from tests.histories import building, claim_judging, judged_runs, language
from tests.support import text_tables

POD = "uid-pod"
_POD = re.compile(r"(?P<phase>[A-Z]\w+)(?:@(?P<node>\w+))?(?P<recorded>(?:,\w+=\w+)*)")
_CLAIM = re.compile(r"(?P<name>[a-z]\w*)(?::(?P<entry>\w+))?(?P<signs>[-^~+!?]*)")


def history(text: str, uid: str = POD, since: int = 1) -> Iterator[records.Body]:
    """The records of a history, whose first version is `since`."""
    for version, word in enumerate(text.split(), since):
        if word == "[":
            yield language.gap("resourceclaims", version - 1, version)
        elif found := _POD.fullmatch(word):
            yield _pod(version, uid, **found.groupdict(""))
        elif found := _CLAIM.fullmatch(word):
            yield _claim(version, uid, **found.groupdict(""))
        else:
            assert word == ".", word


def _pod(version: int, uid: str, phase: str, node: str, recorded: str) -> records.Observation:
    named = [item.split("=") for item in recorded.split(",")[1:]]
    statuses = [{"name": entry, "resourceClaimName": claim} for entry, claim in named]
    meta = _meta("pod", uid) | _managed("recorder", "status", "resourceClaimStatuses")
    status = {"phase": phase, "resourceClaimStatuses": statuses}
    made = {"metadata": meta, "spec": {"nodeName": node}, "status": status}
    return language.observation("pods", version, made)


def _claim(version: int, uid: str, name: str, entry: str, signs: str) -> records.Observation:
    name = name if uid == POD else f"{uid}-{name}"
    owner = {"kind": "Pod", "name": "pod", "uid": uid, "controller": "-" not in signs}
    noted = {"resource.kubernetes.io/pod-claim-name": entry or "device"}
    meta = _meta(name, f"uid-{name}") | _managed("creator", "spec") | {"annotations": noted}
    if "?" not in signs:
        meta["ownerReferences"] = [owner]
    if "!" in signs:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    users = [{"resource": "pods", "name": uid, "uid": uid}] if "^" in signs else []
    status: dict[str, Any] = {"reservedFor": users}
    if "+" in signs:
        meta["finalizers"] = [language.FINALIZER]
        status["allocation"] = {}
    kind = "DELETED" if "~" in signs else "MODIFIED"
    made = {"metadata": meta, "status": status}
    return language.observation("resourceclaims", version, made, kind)


def _meta(name: str, uid: str) -> dict[str, Any]:
    return {"name": name, "namespace": language.NAMESPACE, "uid": uid}


def _managed(manager: str, *path: str) -> dict[str, Any]:
    owned: dict[str, Any] = {}
    for name in reversed(path):
        owned = {f"f:{name}": owned}
    return {"managedFields": [{"manager": manager, "operation": "Update", "fieldsV1": owned}]}


def judge(
    observed: Iterable[records.Body],
    *,
    undisturbed: bool = False,
    applied: Sequence[records.FaultApplied] = (),
) -> verdicts.CheckResult:
    check = controller_records.CHECK
    faults = [] if undisturbed else [building.fault("lose-response")]
    plan = claim_judging.plan(faults)
    evidence = claim_judging.evidence(observed, [check], of=plan, applied=applied)
    return judged_runs.examined(check.judge(evidence))


CASES = [
    pytest.param(title.partition(": ")[2], *columns, *[""] * (4 - len(columns)), id=title)
    for _, (title, *columns) in text_tables.rows(__file__, "controller_records.txt")
]


@pytest.mark.parametrize(("pods", "text", "verdict", "told", "versions"), CASES)
def test_what_a_controller_has_written(
    pods: str, text: str, verdict: str, told: str, versions: str
) -> None:
    uids = {"": [POD], "1": ["u"], "2": ["u", "v"]}[pods.removesuffix(" at rest")]
    valid, _, rest = text.rpartition(" ; ")
    if valid:
        assert judge(history(valid)).verdict is verdicts.Verdict.VALID
    first, _, second = f"{valid} {rest}".partition(" / ")
    body = [*history(first, uids[0])]
    body += [item for uid in uids[1:] for item in history(second or first, uid, 21)]
    result = judge(body, undisturbed=pods.endswith("at rest"))
    assert result.verdict == verdict
    count = 1 if versions else len(uids)
    assert result.violation_count == (count if verdict == "INVALID" else 0)
    reason, *more = told.split(" ; ")
    assert reason in ("", result.reason)
    assert all(words in result.violations[0].text for words in more)
    if versions:
        [violation] = result.violations
        assert violation.summary == reason
        assert violation.resource_versions == [*map(int, versions.split())]


@pytest.mark.parametrize(("kind", "count"), [("evict-by-old-client", 0), ("lose-response", 1)])
def test_nobody_is_blamed_for_a_pod_that_a_fault_has_stripped(kind: str, count: int) -> None:
    hit = records.FaultApplied(
        fault="f",
        kind=kind,
        client="c",
        resource="pods",
        name="pod",
        uid=POD,
        begun_ns=1,
        ended_ns=2,
    )
    assert judge(history("Running,one=a Running"), applied=[hit]).violation_count == count


def test_it_is_owed_by_every_controller_of_a_run_with_traffic() -> None:
    plan = msgspec.structs.replace(
        building.plan(), settings={"traffic": {"users": 1}}, expected_steps=["scheduler"]
    )
    assert controller_records.applies(plan)
    assert controller_records.is_undisturbed(plan)
    explored = msgspec.structs.replace(plan, settings={**plan.settings, "token": "t"})
    assert not controller_records.is_undisturbed(explored)


@pytest.mark.parametrize(
    ("progress_s", "process", "is_owed"),
    [(9.0, "claim-controller", True), (None, "claim-controller", False), (9.0, "scheduler", False)],
)
def test_without_traffic_a_run_to_its_end_owes_it(
    progress_s: float | None, process: str, is_owed: bool
) -> None:
    plan = msgspec.structs.replace(
        building.plan(), progress_s=progress_s, expected_steps=[process], settings={}
    )
    assert controller_records.applies(plan) is is_owed


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"do": "request", "client": "scheduler"}, True),
        ({"do": "kill", "process": "scheduler"}, True),
        ({"do": "request", "client": "claim-controller"}, False),
        ({"do": "deliver", "client": "claim-controller.2"}, False),
        ({"do": "pause", "process": "claim-controller"}, False),
    ],
)
def test_a_controller_that_a_script_holds_may_not_know_the_end_of_a_pod(
    step: dict[str, str], expected: bool
) -> None:
    scripted = {"traffic": {"profile": "script", "steps": [step]}}
    plan = building.plan(settings=scripted, faults=[building.fault("lose-response")])
    assert controller_records.is_undisturbed(plan) is expected

"""Devices are prepared for one claim at a time, and pods wait for ready devices: a line a case."""

import re
from typing import Any

import pytest

from harness.checks import protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.nodes import device_statuses, preparations
from harness.history import records
from tests.histories import building, claim_judging, hold_lists, language
from tests.support import text_tables

READINESS = building.plan(
    settings={"pools": {"more": [{"name": "a", "binding_conditions": ["ready"]}]}}
)
OF_FILES = building.plan(settings={"pools": {"imported": {"has": ["binding-conditions"]}}})
Object = dict[str, Any]


def cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "node_cases.txt", part)


def told(answer: Any) -> str:
    return f"{answer.verdict} {answer.violation_count} {answer.examined_count}"


def preparation(word: str) -> preparations.Preparation:
    match = re.fullmatch(r"!?(?:(\w)/)?(\w):([\w,]+)@(\d+)-(\d*)", word)
    assert match is not None, word
    node, name, devices, begin, end = match.groups()
    return preparations.Preparation(
        node=node or "n",
        namespace="tests",
        name=name,
        uid=f"uid-{name}",
        exclusive=frozenset(devices.split(",")),
        from_ns=int(begin),
        until_ns=int(end) if end else None,
    )


def prepared(text: str) -> Any:
    reading, folded = preparations.Reading(), hold_history.HoldHistory()
    reading.prepared = [preparation(word) for word in text.split()]
    known = [preparation(word) for word in text.split() if not word.startswith("!")]
    pairs = {(device, item.uid): item for item in known for device in item.exclusive}
    folded.holds = hold_lists.columns(
        hold_lists.hold(device, item.name, 1) for (device, _), item in pairs.items()
    )
    given = {preparations.Reading: reading, hold_history.HoldHistory: folded}
    evidence = protocol.Evidence(building.plan(), given)
    return preparations.PREPARED_DEVICES.judge(evidence)


@pytest.mark.parametrize(("text", "expected"), cases("prepared_devices"))
def test_a_device_is_prepared_for_one_claim_at_a_time(text: str, expected: str) -> None:
    assert told(prepared(text)) == expected


@pytest.mark.parametrize(
    ("end", "said"), [("4500000000", "unprepared 1.250 s later"), ("", "never unprepared")]
)
def test_a_double_preparation_says_when(end: str, said: str) -> None:
    [found] = prepared(f"a:d@1250000000-{end} m/b:d@3250000000-").violations
    assert "2.000 s later on m for claim b (uid-b); " in found.text
    assert found.text.endswith(f"the first one was {said}.")


def claim_version(version: int, name: str, text: str) -> records.Observation:
    wanted, _, true = text.removeprefix("?").partition("=")
    conditions, _, failures = wanted.partition("!")
    row = {"driver": "d.example", "pool": "fabric", "device": "a"}
    reported = [{"type": kind, "status": str(kind in true)} for kind in "xyz"]
    status: Object = {"devices": [{**row, "conditions": reported}]}
    if text.startswith("?"):
        row |= {"bindingConditions": [*conditions], "bindingFailureConditions": [*failures]}
        status["allocation"] = {"devices": {"results": [row]}}
    meta = {"name": name, "namespace": "tests", "uid": f"uid-{name}"}
    kind = "DELETED" if text == "~" else "MODIFIED"
    return language.observation(
        "resourceclaims", version, {"metadata": meta, "status": status}, kind
    )


def pod_version(version: int, name: str, *, is_bound: bool) -> records.Observation:
    entries = [{"name": it, "resourceClaimName": it} for it in ("ab" if name == "p" else "a")]
    spec = {"resourceClaims": entries, "nodeName": "n" if is_bound else ""}
    meta = {"name": name, "namespace": "tests", "uid": f"uid-{name}"}
    return language.observation("pods", version, {"metadata": meta, "spec": spec})


@pytest.mark.parametrize(("text", "expected"), cases("device_readiness"))
def test_a_pod_is_bound_to_ready_devices(text: str, expected: str) -> None:
    body: list[records.Body] = [
        pod_version(version, word[0], is_bound=word.endswith("@"))
        if word[0] in "pq"
        else claim_version(version, word[0], word[1:])
        for version, word in enumerate(text.split(), start=1)
    ]
    check = device_statuses.DEVICE_READINESS
    # Pods and claims come by different watches.
    for order in (body, sorted(body, key=lambda item: str(item.resource))):
        answer = check.judge(claim_judging.evidence(order, [check], of=READINESS))
        assert told(answer) == expected
        for violation in getattr(answer, "violations", ()):
            assert text.split()[violation.resource_versions[-1] - 1].endswith("@")
        of_files = check.judge(claim_judging.evidence(order, [check], of=OF_FILES))
        is_vacuous = isinstance(of_files, verdicts.NotExamined)
        assert is_vacuous is expected.endswith(" 0")
        assert is_vacuous or told(of_files) == expected

"""Checks of other packages: their answers, and every way in which they can fail to answer."""

import json
import pathlib
import re
import sys
from typing import Any

import msgspec
import pytest

from harness import errors
from harness.checks import (
    findings,
    judging,
    plugin_checks,
    protocol,
    run_views,
    verdict_files,
    verdicts,
)
from harness.extensions import isolation
from harness.history import histories, plans
from tests.histories import archives, building
from tests.support import plugin_packages, schemas

ROOT = pathlib.Path(__file__).parents[3]
VALID, UNKNOWN, INVALID = verdicts.Verdict
HEAD = """
import time
from harness import api
Idle = api.Check(
    name="idle", promise="it rains", needs=(api.RunView,),
    judge=lambda evidence: check(evidence[api.RunView]))
def check(run):
"""
FINE = """
        assert run.plan["scenario"] == "written-by-hand"
        seen = {record["record"] for record in run.journal("observations")}
        assert "observation" in seen, seen
        assert len(run.holds) > 0
        print("not the answer")
        return api.CheckAnswer(examined=len(run.holds))
"""
BROKEN = """
        hold = run.holds[0]
        found = api.Violation(
            summary=f"{hold.device} is old", resource_versions=[hold.from_rv, 1],
            objects=[api.InvolvedObject(kind="ResourceClaim", name=hold.claim, uid=hold.uid)])
        return api.CheckAnswer(examined=len(run.holds), violations=[found], reason="one is old")
"""
USED = plans.UsedPlugin(kind="checks", name="idle", package="acme", version="1.2.0")


@pytest.fixture
def judged(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Judge a run that owes a check with this body; None: the check is not installed."""

    def judge(
        body: str | None,
        *,
        package: str = "acme",
        text: str = archives.TEXTS["VALID"],
        head: str = HEAD,
        more: bytes = b"",
    ) -> verdict_files.Judgement:
        if body is not None:
            files = {"acme.py": head + body}
            entry_points = {"checks": {"idle": "acme:Idle"}}
            plugin_packages.install(tmp_path / "site", monkeypatch, package, entry_points, files)
        made = building.build(tmp_path / "run", text, changes={"plugins": [USED]})
        made.observations.write_bytes(made.observations.read_bytes() + more)
        return judging.judge(made)

    return judge


def result(judgement: verdict_files.Judgement) -> verdicts.CheckResult:
    return next(item for item in judgement.checks if item.check == "idle")


def test_a_check_that_finds_nothing_wrong_is_one_guarantee_more(judged: Any) -> None:
    judgement = judged(FINE)
    found = result(judgement)
    assert (judgement.verdict, found.verdict, found.promise) == (VALID, VALID, "it rains")
    assert found.examined_count > 0
    assert found.reason.endswith("(plug-in of acme 1.2.0)")


def test_a_violation_makes_the_run_invalid(judged: Any) -> None:
    judgement = judged(BROKEN)
    (violation,) = result(judgement).violations
    assert judgement.verdict is INVALID
    assert violation.guarantee == "idle"
    assert violation.text == violation.summary
    assert list(violation.resource_versions) == sorted(violation.resource_versions)
    assert violation.objects[0].kind == "ResourceClaim"
    assert "one is old (plug-in of acme 1.2.0)" in judgement.reason
    schemas.obeying("verdict", verdict_files.encode(judgement))


def test_a_violation_does_not_stand_if_the_observations_are_in_doubt(judged: Any) -> None:
    judgement = judged(BROKEN, more=b"nonsense\n")
    assert (judgement.verdict, result(judgement).verdict) == (UNKNOWN, UNKNOWN)


def test_a_check_that_examined_nothing_takes_no_part(judged: Any) -> None:
    judgement = judged("        return api.CheckAnswer(examined=0)\n")
    assert judgement.verdict is VALID
    (item,) = [item for item in judgement.not_examined if item.check == "idle"]
    assert item.reason == "it examined nothing (plug-in of acme 1.2.0)"


@pytest.mark.parametrize(
    ("body", "options", "reason"),
    [
        ("        return 1 / 0\n", {}, "it failed: ZeroDivisionError"),
        ("        return {'examined': 3}\n", {}, "return a harness.api.CheckAnswer, got dict"),
        (
            "        return api.CheckAnswer(examined='3')\n",
            {},
            r"proper fields \(.*`int`, got `str`",
        ),
        ("        return api.CheckAnswer(examined=1, reason=object())\n", {}, "numbers and text"),
        ("        raise SystemExit(3)\n", {}, "it failed: SystemExit: 3"),
        ("        import os; os._exit(3)\n", {}, "its process ended with exit code 3"),
        ("        return list(run.journal('nonsense'))\n", {}, "expected observations, operations"),
        (None, {}, "of acme 1.2.0, which is not installed here"),
        ("", {"head": "import nowhere\n"}, "ModuleNotFoundError: No module named 'nowhere'"),
        ("", {"head": "Idle = object()\n"}, "to be a harness.api.Check, got object"),
        (FINE, {"package": "other"}, "not installed here, only the check 'idle' of other 1.2.0"),
    ],
)
def test_a_check_without_an_answer_is_unknown_by_name(
    judged: Any, body: str | None, options: dict[str, str], reason: str
) -> None:
    judgement = judged(body, **options)
    assert (judgement.verdict, result(judgement).verdict) == (UNKNOWN, UNKNOWN)
    assert "idle" in judgement.reason
    assert re.search(reason, judgement.reason)


@pytest.mark.parametrize(
    ("body", "old", "new", "reason"),
    [
        (FINE, "", "", "violations in"),
        ("        return 3\n", "", "", "return a harness.api.CheckAnswer, got int"),
        (FINE, "def check", "Idle = 3\ndef check", "to be a harness.api.Check, got int"),
        (FINE, '"idle"', '"busy"', "expected the name idle in the check 'idle'"),
        (FINE, "needs", "applies=lambda plan: False, needs", "the plan does not ask for it"),
    ],
)
def test_what_the_process_of_a_check_answers(
    judged: Any, monkeypatch: pytest.MonkeyPatch, body: str, old: str, new: str, reason: str
) -> None:
    monkeypatch.setattr(isolation, "ask", lambda *given, **_: plugin_checks._judge(given[2]))
    monkeypatch.delitem(sys.modules, "acme", raising=False)
    head = HEAD.replace(old, new) if old else HEAD
    judgement = judged(body, head=head)
    told = {item.check: item.reason for item in (*judgement.checks, *judgement.not_examined)}
    assert reason in told["idle"]
    is_answered = any(item.check == "idle" and item.examined_count for item in judgement.checks)
    assert is_answered is (not new and body is FINE)


def test_a_check_that_never_answers_is_ended(judged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(isolation.TIMEOUT_VARIABLE, "1.5")
    judgement = judged("        time.sleep(600)\n")
    assert judgement.verdict is UNKNOWN
    assert "the check 'idle' of acme 1.2.0 to answer within 1.5 s" in judgement.reason


def test_a_run_that_does_not_owe_an_installed_check_is_judged_without_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_points = {"checks": {"idle": "acme:Idle"}}
    files = {"acme.py": HEAD + BROKEN}
    plugin_packages.install(tmp_path / "site", monkeypatch, "acme", entry_points, files)
    other = msgspec.structs.replace(USED, kind="traffic")
    changes = {"plugins": [other]}
    made = building.build(tmp_path / "run", archives.TEXTS["VALID"], changes=changes)
    assert judging.judge(made).verdict is VALID
    assert [plugin.name for plugin in plugin_checks.installed()] == ["idle"]


FOUND = {"summary": "s", "text": "", "resource_versions": [1], "objects": []}
ANSWER = {"promise": "p", "examined": 1, "reason": "", "violations": [FOUND] * 3}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        3,
        ANSWER | {"more": 1},
        ANSWER | {"examined": 0},
        ANSWER | {"examined": -1},
        ANSWER | {"promise": "two\nlines"},
        ANSWER | {"promise": ""},
        ANSWER | {"violations": 3},
        ANSWER | {"violations": [FOUND | {"summary": " "}]},
        ANSWER | {"violations": [FOUND | {"resource_versions": [-1]}]},
        ANSWER | {"violations": [FOUND | {"objects": [{"kind": "Pod"}]}]},
        ANSWER | {"violations": [FOUND] * (findings.VIOLATIONS_MAX + 1)},
    ],
    ids=lambda wrong: str(wrong)[:60],
)
def test_nonsense_is_no_answer(wrong: object) -> None:
    with pytest.raises(errors.PluginError, match="expected the check"):
        findings.decode_plain(json.dumps(wrong).encode(), "the check")


def test_a_view_of_a_run_has_its_pods_in_order_and_its_journals(tmp_path: pathlib.Path) -> None:
    made = building.build(tmp_path / "run", "a+D1 a^q a^p a^s a^r")
    history = histories.load(made.path)
    view = run_views.RunView.from_evidence(protocol.read(history, run_views.RunView.NEEDS))
    assert view.holds[0].pods == ["p", "q", "r", "s"]
    assert "phase" in {item["record"] for item in view.journal("processes")}
    assert list(view.journal("faults")) == []
    made.processes.unlink()
    lost = protocol.read(histories.load(made.path), run_views.RunView.NEEDS)
    assert list(run_views.RunView.from_evidence(lost).journal("processes")) == []


def test_the_documented_check_does_what_it_promises() -> None:
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/how-to/plug-ins.md").read_text(), re.DOTALL
    )
    (code,) = [block for block in blocks if "api.CheckAnswer" in block]
    names: dict[str, Any] = {}
    exec(code, names)
    holds = [
        run_views.Hold("d/p-1/a", "ns", "c", "u", [], True, False, 3, None),
        run_views.Hold("d/p-2/a", "ns", "c", "u", [], True, False, 3, 9),
        run_views.Hold("d/p-2/a", "ns", "d", "v", [], True, False, 10, None),
    ]
    counts = []
    for given in ([], holds[:1], holds):
        view = run_views.RunView(plan={}, holds=given, journal=lambda name: iter(()))
        evidence = protocol.Evidence(building.plan(), {run_views.RunView: view})
        answer = names["ONE_POOL_PER_CLAIM"].judge(evidence)
        counts.append((answer.examined, len(answer.violations)))
    assert counts == [(0, 0), (1, 0), (2, 1)]

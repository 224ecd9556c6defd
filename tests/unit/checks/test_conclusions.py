"""The conclusion from the checks: guarantees about which a run says nothing take no part."""

import pathlib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import (
    check_registry,
    conclusions,
    judging,
    plan_facts,
    protocol,
    run_figures,
    verdict_files,
    verdicts,
)
from harness.checks.devices import device_timelines, tainted_devices
from harness.checks.evidence import used_features
from harness.history import directories, plans, records
from harness.model.fault_effects import Effect
from tests.histories import building, judged_runs
from tests.support import cases

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
SILENT = verdicts.NotExamined(check="silent", promise="it rains", reason="no cloud was observed")


def _judge(
    path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    *answers: verdicts.Answer,
    demanded: Sequence[str] = (),
) -> verdict_files.Judgement:
    def checked(answer: verdicts.Answer) -> protocol.Check:
        return protocol.Check(
            name=answer.check, guarantee="", promise=answer.promise, judge=lambda given: answer
        )

    monkeypatch.setattr(
        check_registry, "CHECKS", (*check_registry.CHECKS[:1], *map(checked, answers))
    )
    wanted = plans.Requirements(allocations_min=0, pods_running_min=0, examined=list(demanded))
    return judging.judge(building.build(path / "run", "a+D1 b+D2", requirements=wanted))


def test_what_examined_nothing_takes_no_part(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgement = _judge(tmp_path, monkeypatch, SILENT)
    assert judgement.verdict is VALID
    assert [item.check for item in judgement.checks] == ["device_exclusivity"]
    assert judgement.not_examined == [SILENT]
    assert judgement.reason.startswith("1 guarantee holds: 2 allocations of 2 devices")
    assert "not examined" not in judgement.reason
    doubtful = msgspec.structs.replace(SILENT, reason="clouds may be missing")
    told = _judge(tmp_path / "doubtful", monkeypatch, doubtful).reason
    assert told.endswith("; not examined: silent")


def test_what_the_run_used_is_named_if_it_was_not_examined(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partly = msgspec.structs.replace(judged_runs.answered("partly", VALID), unexamined_count=3)
    whole = judged_runs.answered("whole", VALID)
    idle = msgspec.structs.replace(whole, check="idle", examined_count=0)
    asked = frozenset({"silent", "partly", "whole", "idle"})
    monkeypatch.setattr(used_features.UsedFeatures, "asked", asked)
    judgement = _judge(tmp_path / "asked", monkeypatch, SILENT, partly, whole, idle)
    assert judgement.verdict is VALID
    assert judgement.reason.endswith("; not examined: silent, partly (3 times), idle")
    assert judgement.unexamined == ["silent", "partly (3 times)", "idle"]
    monkeypatch.setattr(used_features.UsedFeatures, "asked", frozenset())
    other = _judge(tmp_path / "other", monkeypatch, SILENT, partly, idle)
    assert "not examined" not in other.reason


@pytest.mark.parametrize(("progress_s", "owed"), [(None, set()), (5.0, {"silent"})])
def test_what_a_plan_asks_for_is_owed(progress_s: float | None, owed: set[str]) -> None:
    plan = msgspec.structs.replace(building.plan(), progress_s=progress_s)
    owed |= {"device_exclusivity"}
    assert conclusions.owed(plan, ["silent"]) == owed
    wanted = msgspec.structs.replace(plan.requirements, examined=["other"])
    asked = msgspec.structs.replace(plan, requirements=wanted)
    assert conclusions.owed(asked, ["silent"]) == {"other", *owed}


@pytest.mark.parametrize("name", [check.name for check in check_registry.CHECKS] + ["of_a_plug_in"])
def test_no_script_is_valid_that_examined_nothing_of_what_it_expects(
    tmp_path: pathlib.Path, name: str
) -> None:
    """Whatever it expects: nothing happened, so nothing is refuted, and the reason says so."""
    directory = _scripted(tmp_path / "run", "", expects=[name])
    judged = judging.judge(directory)
    examined = {item.check for item in judged.checks if item.examined_count}
    assert (judged.verdict is VALID) == (name in examined), judged.reason
    assert name in examined or f"{name}: " in judged.reason


@pytest.mark.parametrize("expects", [[], ["device_exclusivity"]])
@pytest.mark.parametrize("text", ["", "p:? a<p p?a", "a+D1", "a+D1! p*"])
def test_no_unknown_is_without_a_reason(
    tmp_path: pathlib.Path, text: str, expects: list[str]
) -> None:
    for directory in (
        _scripted(tmp_path / "script", text, expects=expects),
        building.build(tmp_path / "load", text),
    ):
        judged = judging.judge(directory)
        assert all(item.reason for item in judged.checks if item.verdict is UNKNOWN)
        assert all(item.reason for item in judged.not_examined)
        assert all(item.reason for item in judged.certificate)
        assert judged.reason.strip(" :;")


def test_a_run_without_any_answer_says_so() -> None:
    figures = run_figures.Figures  # no figure is asked for
    assert conclusions.conclude([], [], figures) == (UNKNOWN, "no guarantee was examined")  # type: ignore[arg-type]


def test_a_script_about_another_guarantee_says_that_nothing_was_allocated(
    tmp_path: pathlib.Path,
) -> None:
    judged = judging.judge(_scripted(tmp_path / "run", "p:? a<p p?a", expects=["generated_claims"]))
    assert judged.verdict is VALID
    assert judged.unexamined == ["device_exclusivity"]


def _scripted(
    folder: pathlib.Path, text: str, *, expects: Sequence[str]
) -> directories.RunDirectory:
    traffic = {"profile": "script", "expects": list(expects)}
    directory = building.build(folder, text, changes={"settings": {"traffic": traffic}})
    building.write(directory.script, [], process="script")
    return directory


def test_a_demanded_check_must_have_examined_something(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for check, answers in (("silent", [SILENT]), ("forgotten", [])):
        judgement = _judge(tmp_path / check, monkeypatch, *answers, demanded=[check])
        assert (judgement.verdict, judgement.not_examined) == (UNKNOWN, [])
        assert judged_runs.failed(judgement)["load"] == f"nothing was examined by {check}"
    seen = _judge(tmp_path, monkeypatch, judged_runs.answered("seen", VALID), demanded=["seen"])
    assert (seen.verdict, seen.reason[:21]) == (VALID, "2 guarantees hold: 2 ")


def test_exclusivity_must_always_be_examined() -> None:
    silent = verdicts.NotExamined(check="device_exclusivity", promise="", reason="no hold")
    results, others = conclusions.divided([silent, SILENT], conclusions.owed(building.plan(), []))
    assert [(item.check, item.verdict, item.reason) for item in results] == [
        ("device_exclusivity", UNKNOWN, "no hold")
    ]
    assert others == [SILENT]
    missing, _ = conclusions.divided([], "hgfedcba")
    assert "".join(item.check for item in missing) == "abcdefgh"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([("one", INVALID, 1), ("two", INVALID, 7)], "one (once) and two (7 times) are violated: one says so"),
        ([("one", UNKNOWN), ("two", INVALID, 2)], "two (2 times) is violated: two says so"),
    ],
)  # fmt: skip
def test_violated_guarantees_come_first_and_are_counted(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, answers: list[Any], reason: str
) -> None:
    given = [judged_runs.answered(*answer) for answer in answers]
    assert _judge(tmp_path, monkeypatch, *given).reason == reason


def test_a_check_that_does_not_apply_is_named(tmp_path: pathlib.Path) -> None:
    judgement = judging.judge(building.build(tmp_path / "run", "a+D1"))
    reasons = {item.check: item.reason for item in judgement.not_examined}
    assert reasons["claim_progress"] == "the plan does not ask for it"
    assert "device_exclusivity" not in reasons


@pytest.mark.parametrize(
    ("until_found", "phases", "verdict", "was_ended"), cases.read(__file__, "ended")
)
def test_only_a_violation_ends_a_run_as_planned(
    until_found: bool, phases: str, verdict: str, was_ended: bool
) -> None:
    plan = msgspec.structs.replace(building.plan(), until_found=until_found)
    done = [records.Phase(name=name, ts_ns=0) for name in phases.split()]
    found = conclusions.was_ended_as_planned(verdicts.Verdict(verdict), plan, done)
    assert found is was_ended


@pytest.mark.parametrize(("name", "ok", "needed"), cases.read(__file__, "amounts"))
def test_a_run_that_a_violation_ended_owes_no_amounts(name: str, ok: bool, needed: bool) -> None:
    item = verdicts.CertificateItem(name=name, question="?", ok=ok, reason="because")
    assert [(one.ok, one.needed) for one in conclusions.excuse([item])] == [(ok, needed)]


@pytest.mark.parametrize(
    ("ok", "reason"),
    [
        (True, "nothing was examined by one, two"),
        (False, "too few; nothing was examined by one, two"),
    ],
)
def test_what_was_wrong_with_the_load_is_still_told(ok: bool, reason: str) -> None:
    load, other = (
        verdicts.CertificateItem(name=name, question="?", ok=ok, reason="too few")
        for name in ("load", "order")
    )
    found = conclusions.require_examined([load, other], [], ["one", "two"])
    assert [(item.ok, item.reason) for item in found] == [(False, reason), (ok, "too few")]


CHECKS = {check.name: check for check in check_registry.CHECKS}
Object = dict[str, Any]


def planned(settings: Object, changes: Object) -> plans.Plan:
    """A plan with these settings and other fields, of which the faults are kinds."""
    faults = {"faults": [building.fault(kind) for kind in changes.get("faults", [])]}
    return msgspec.structs.replace(building.plan(settings=settings), **changes | faults)


@pytest.mark.parametrize(("check", "settings", "changes", "owed"), cases.read(__file__, "owed"))
def test_a_run_owes_a_check(check: str, settings: Object, changes: Object, owed: bool) -> None:
    assert CHECKS[check].applies(planned(settings, changes)) is owed


@pytest.mark.parametrize(("check", "manifests", "owed"), cases.read(__file__, "owed_by_manifests"))
def test_a_run_owes_a_check_of_what_it_creates(
    check: str, manifests: list[Object], owed: bool
) -> None:
    objects = [{"manifest": {"metadata": {"name": "x"}, **item}} for item in manifests]
    plan = planned({"traffic": {"sets": [{"objects": objects}]}}, {})
    assert CHECKS[check].applies(plan) is owed


@pytest.mark.parametrize(("kind", "clients", "confuses"), cases.read(__file__, "confusing"))
def test_only_what_a_nemesis_has_drawn_confuses_schedulers(
    kind: str, clients: list[str], confuses: bool
) -> None:
    drawn = building.fault(kind, clients=clients, drawn_by="chaos")
    assert plan_facts.confuses_schedulers(building.plan(faults=[drawn])) is confuses
    chosen = building.fault(kind, clients=clients)
    assert not plan_facts.confuses_schedulers(building.plan(faults=[chosen]))


@pytest.mark.parametrize(
    ("pools", "schedulers", "changes", "asked"), cases.read(__file__, "views_asked")
)
def test_steps_show_what_an_only_scheduler_knew_of_pools_that_change(
    pools: Object, schedulers: list[Object], changes: Object, asked: bool
) -> None:
    settings = {"subject": {"schedulers": schedulers}, "pools": pools}
    plan = planned(settings, {"expected_steps": ["scheduler"]} | changes)
    assert device_timelines.are_asked(plan) is asked
    assert tainted_devices.needs_views(plan) is asked
    assert tainted_devices.TAINTED_DEVICES.applies(plan) is asked


@pytest.mark.parametrize(("provider", "expects", "blamed"), cases.read(__file__, "blamed"))
def test_a_real_server_is_blamed_only_by_a_script_that_asks(
    provider: dict[str, str], expects: list[str], blamed: bool
) -> None:
    settings = {"traffic": {"profile": "script", "expects": expects}}
    plan = planned(settings, {"cluster_profile": provider})
    assert plan_facts.blames_server(plan) is blamed


def test_processes_that_a_script_holds_and_taints_that_come() -> None:
    steps = [{}, {"client": "scheduler.2"}, {"process": "kubelet"}]
    plan = planned({"traffic": {"profile": "script", "steps": steps}}, {})
    names = ("scheduler", "kubelet", "claim-controller")
    assert [plan_facts.disturbs(plan, name) for name in names] == [True, True, False]
    comes = {"kind": "taint", "effect": "NoExecute"}
    changing = planned({"pools": {"changes": [comes, {"kind": "flap"}]}}, {})
    assert plan_facts.added_taints(changing) == [comes]


def test_effects_that_a_plan_has() -> None:
    plan = planned({}, {"faults": ["drop-watch", "delay-request"]})
    effects = (Effect.ENDED_WATCH, Effect.LATE_WRITE, Effect.PAUSE)
    assert [plan_facts.plans_effect(plan, effect) for effect in effects] == [True, True, False]

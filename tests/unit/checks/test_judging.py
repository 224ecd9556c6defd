"""From a directory to its verdict: which of several answers wins, and that it is always the
same.
"""

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest

from harness import errors
from harness.checks import check_registry, judging, protocol, verdict_files, verdicts
from harness.checks.holds import hold_history
from harness.checks.progress import resource_leaks
from harness.history import directories, plans, records
from tests.histories import building, damages, judged_runs, language

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID


def test_a_valid_run(tmp_path: pathlib.Path) -> None:
    judgement = judging.judge(building.build(tmp_path / "run", "a+D1 p* a~ b+D1"))
    assert (judgement.verdict, judgement.exit_code) == (VALID, 0)
    assert judgement.reason == (
        "1 guarantee holds: 2 allocations of 1 device, 2 claims, 1 pod that ran"
    )
    assert (judgement.run_id, judgement.scenario, judgement.seed) == (
        building.RUN_ID,
        building.SCENARIO,
        building.SEED,
    )


def test_a_violation(tmp_path: pathlib.Path) -> None:
    judgement = judging.judge(building.build(tmp_path / "run", "a+D1 b+D1 a~ b~"))
    assert (judgement.verdict, judgement.exit_code) == (INVALID, 10)
    assert judgement.reason == (
        "device_exclusivity (once) is violated: "
        "1 double allocation of 1 device among 2 allocations of 1 device"
    )
    assert judgement.figures.double_allocations == 1


@pytest.mark.parametrize("text", ["", "a+D1! p*", "a+D1% b+D1%"])
def test_nothing_examined_is_unknown_however_sound_the_directory(
    tmp_path: pathlib.Path, text: str
) -> None:
    judgement = judging.judge(building.build(tmp_path / "run", text))
    assert all(item.ok for item in judgement.certificate)
    assert (judgement.verdict, judgement.exit_code) == (UNKNOWN, 20)
    assert (
        judgement.reason
        == "device_exclusivity: no exclusive allocation of any device was observed, so nothing was "
        "examined"
    )


def test_a_violation_wins_over_a_failed_certificate(tmp_path: pathlib.Path) -> None:
    requirements = plans.Requirements(allocations_min=1000, pods_running_min=1000)
    directory = building.build(tmp_path / "run", "a+D1 [ b+D1 ]", requirements=requirements)
    for damage in (damages.no_trailer(damages.observations), damages.timed_out()):
        damage(directory)
    judgement = judging.judge(directory)
    assert not all(item.ok for item in judgement.certificate)
    assert judgement.verdict is INVALID
    assert judgement.reason == (
        "device_exclusivity (once) is violated: "
        "1 double allocation of 1 device among 2 allocations of 1 device"
    )


def _check(name: str, judge: Callable[[protocol.Evidence], verdicts.Answer]) -> protocol.Check:
    return protocol.Check(name=name, guarantee="", promise="it works", judge=judge)


def test_a_check_that_breaks_is_unknown_and_says_how(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(given: protocol.Evidence) -> verdicts.CheckResult:
        raise ZeroDivisionError("who would have thought")

    monkeypatch.setattr(
        check_registry,
        "CHECKS",
        (
            _check("fine", lambda given: judged_runs.answered("made-up", VALID)),
            _check("broken", broken),
        ),
    )
    judgement = judging.judge(building.build(tmp_path / "run", "a+D1"))
    assert judgement.verdict is UNKNOWN
    assert judgement.reason.startswith(
        "broken: the check failed: ZeroDivisionError('who would have thought')"
    )
    assert [(item.check, item.verdict) for item in judgement.checks][:2] == [
        ("made-up", VALID),
        ("broken", UNKNOWN),
    ]
    assert judgement.checks[1].examined_count == judgement.checks[1].violation_count == 0


def test_a_violation_wins_over_a_check_that_breaks(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(given: protocol.Evidence) -> verdicts.CheckResult:
        raise RuntimeError

    monkeypatch.setattr(
        check_registry, "CHECKS", (*check_registry.CHECKS, _check("broken", broken))
    )
    directory = building.build(tmp_path / "run", "a+D1 b+D1")
    assert judging.judge(directory).verdict is INVALID


def test_a_check_that_the_plan_does_not_ask_for_has_no_result(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = msgspec.structs.replace(
        _check("asked", lambda given: judged_runs.answered("made-up", INVALID)),
        applies=lambda plan: bool(plan.progress_s),
    )
    monkeypatch.setattr(check_registry, "CHECKS", (*check_registry.CHECKS, asked))
    directory = building.build(tmp_path / "run", "a+D1")
    assert [item.check for item in judging.judge(directory).checks] == ["device_exclusivity"]
    plans.write(directory.plan, msgspec.structs.replace(plans.read(directory.plan), progress_s=5.0))
    assert judging.judge(directory).verdict is INVALID


@pytest.mark.parametrize("until_found", [True, False])
def test_only_a_run_that_a_violation_ended_as_planned_needs_no_load(
    tmp_path: pathlib.Path, until_found: bool
) -> None:
    directory = building.build(
        tmp_path / "run",
        "a+D1 b+D1",
        requirements=plans.Requirements(allocations_min=100, pods_running_min=0),
        changes={"until_found": until_found},
    )
    damages.before_the_end(records.Phase(name="found", ts_ns=language.at(0)))(directory)
    judgement = judging.judge(directory)
    assert judgement.ended_by_violation is until_found
    missing = [item.name for item in judgement.certificate if not item.needed]
    assert missing == (["load"] if until_found else [])


# ------------------------------------------------------------------------------- verdict.json

BUSY = " ".join(f"a{i}=D{i % 7},D{i % 5} p{i}* a{i}^p{i}" for i in range(30))


def test_the_verdict_is_read_as_it_was_written(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", BUSY)
    judgement = judging.judge(directory)
    verdict_files.write(directory, judgement)
    assert verdict_files.read(directory) == msgspec.to_builtins(judgement)


def test_so_does_judging_in_another_process_with_other_hashes(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", BUSY)
    code = (
        "import pathlib, sys\n"
        "from harness.checks import judging, verdict_files\n"
        "from harness.history import directories\n"
        "directory = directories.existing(pathlib.Path(sys.argv[1]))\n"
        "verdict_files.write(directory, judging.judge(directory))\n"
    )
    seen = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(
            [sys.executable, "-c", code, str(directory.path)], env=environment, check=True
        )
        seen.add(directory.verdict.read_bytes())
    verdict_files.write(directory, judging.judge(directory))
    assert seen == {directory.verdict.read_bytes()}


def test_judging_changes_no_evidence(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", BUSY)
    before = {path.name: path.read_bytes() for path in directory.path.iterdir() if path.is_file()}
    verdict_files.write(directory, judging.judge(directory))
    after = {path.name: path.read_bytes() for path in directory.path.iterdir() if path.is_file()}
    del after["verdict.json"]
    assert after == before


@pytest.mark.parametrize(
    "damage", [None, b"", b"{}", b'{"verdict": "FINE"}', b'{"run_id": "\xff"}']
)
def test_a_verdict_that_cannot_be_read_says_what_to_do(
    tmp_path: pathlib.Path, damage: bytes | None
) -> None:
    directory = directories.create(tmp_path / "run")
    if damage is not None:
        directory.verdict.write_bytes(damage)
    with pytest.raises(errors.VerdictError, match="Judge the run again: flake-hunt check "):
        verdict_files.read(directory)


def test_a_check_gets_nothing_but_what_it_needs() -> None:
    check = protocol.Check(
        name="idle",
        guarantee="X",
        promise="it rains",
        needs=(resource_leaks.GarbageCollection,),
        judge=lambda evidence: evidence[hold_history.HoldHistory],  # type: ignore[arg-type,return-value]
    )
    works = resource_leaks.GarbageCollection()
    evidence = protocol.Evidence(building.plan(), {resource_leaks.GarbageCollection: works})
    assert evidence.of(check)[resource_leaks.GarbageCollection] is works
    with pytest.raises(LookupError, match="expected HoldHistory in the needs of the check"):
        check.judge(evidence.of(check))

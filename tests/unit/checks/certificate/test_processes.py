"""Which processes of a run must start and end, and what a fault that kills one excuses."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import judging, run_course, verdicts
from harness.checks.evidence import journal_totals
from harness.history import directories, histories, plans, records
from tests.histories import building, damages, judged_runs, language

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
TEXT = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1"
SUCCESSOR = "scheduler.2"
STARTED, ENDED = records.ProcessStarted, records.ProcessEnded
STEP = building.step(0, "scheduling", "gather.started", 1)


def without(process: str, *kinds: type[records.Body]) -> damages.Damage:
    return damages.dropped(
        damages.processes,
        lambda record: isinstance(record, kinds) and getattr(record, "process", "") == process,
    )


def twice(kind: type[records.Body]) -> damages.Damage:
    return damages.changed(
        damages.processes,
        lambda body: [one for item in body for one in [item] * (1 + isinstance(item, kind))],
    )


ALL = ("kubelet", "recorder", "scheduler", "traffic")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        *((without(name, STARTED, ENDED), f"processes: {name} never started") for name in ALL[:3]),
        (without("kubelet", ENDED), "processes: kubelet never ended"),
        (without("traffic", STARTED), "processes: traffic ended, but never started"),
        (twice(STARTED), f"processes: {'; '.join(f'{name} started twice' for name in ALL)}"),
        (twice(ENDED), f"processes: {'; '.join(f'{name} ended twice' for name in ALL)}"),
        *(
            (
                damages.appended(damages.processes, records.Phase(name=phase, ts_ns=9)),
                "in-time: the phase 'ended' is not the last one",
            )
            for phase in ("ended", "load")
        ),
    ],
)
def test_a_run_that_did_not_take_its_course(
    tmp_path: pathlib.Path, damage: damages.Damage, reason: str
) -> None:
    judgement = judged_runs.judge(tmp_path, TEXT, damage)
    assert (judgement.verdict, judgement.reason) == (UNKNOWN, reason)


def test_the_plan_names_the_processes_that_must_start(tmp_path: pathlib.Path) -> None:
    changes = {"expected_processes": ["recorder", "traffic"]}
    no_traffic = without("traffic", STARTED, ENDED)
    assert judged_runs.judge(tmp_path / "1", TEXT, no_traffic).verdict is VALID
    judgement = judged_runs.judge(tmp_path / "2", TEXT, no_traffic, changes=changes)
    assert judgement.reason == "processes: traffic never started"
    no_kubelet = without("kubelet", STARTED, ENDED)
    assert judged_runs.judge(tmp_path / "3", TEXT, no_kubelet, changes=changes).verdict is VALID
    # The actors of an explored run are no processes.
    explored = {"settings": {"token": "w/1"}}
    gone = without("scheduler", STARTED, ENDED)
    assert judged_runs.judge(tmp_path / "4", TEXT, gone, changes=explored).verdict is VALID


# -------------------------------------------------------------------------------- the script

PLAYED = [
    records.ScriptStep(step=number, text=f"event {number}", begun_ns=10**9, ended_ns=3 * 10**9)
    for number in (1, 2)
]
LATE = msgspec.structs.replace(PLAYED[1], late="nobody wrote")


def of_script(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.script


@pytest.mark.parametrize(
    ("body", "damage", "told"),
    [
        (PLAYED, None, ""),
        ([*PLAYED, records.Phase(name="load", ts_ns=1)], None, ""),
        (PLAYED[:1], None, "1 of 2 steps were played"),
        (PLAYED[::-1], None, "2 of 2 steps were played"),
        ([*PLAYED, PLAYED[1]], None, "3 of 2 steps were played"),
        ([PLAYED[0], LATE], None, "step 2 of 2 did not happen: event 2; after 2.0 s: nobody wrote"),
        (PLAYED, damages.missing(of_script), "the run left no record of its script"),
        (PLAYED, damages.no_trailer(of_script), "the steps of the script have no trailer"),
    ],
)
def test_every_step_of_a_script_happens_in_its_order(
    tmp_path: pathlib.Path, body: list[records.Body], damage: damages.Damage | None, told: str
) -> None:
    traffic = {"profile": "script", "expects": [], "steps": [{}, {}]}
    directory = building.build(tmp_path, TEXT, changes={"settings": {"traffic": traffic}})
    building.write(directory.script, body, process="script")
    if damage:
        damage(directory)
    steps = [item for item in body if directory.script.exists() and item in (*PLAYED, LATE)]
    assert run_course.script_steps(histories.load(directory.path)) == steps
    ok, reason = judged_runs.item(judging.judge(directory), "script")
    assert ok is not bool(told)
    assert reason.startswith(told or "all 2 steps happened")


# ------------------------------------------------------------------------ the errors of calls


def _failed(op: int, verb: Any, resource: str, status: int, reason: str) -> list[records.Body]:
    call = building.invocation(op, resource, "x")
    end = records.Completion(op=op, outcome="fail", ts_ns=0, status=status, reason=reason)
    return [msgspec.structs.replace(call, verb=verb), end]


def _errors(folder: pathlib.Path, *calls: records.Body) -> journal_totals.Operations:
    directory = building.build(folder / "run", "a+D1 p*")
    damages.appended(damages.operations, *calls)(directory)
    return journal_totals.read(histories.load(directory.path))


def test_calls_are_tallied(tmp_path: pathlib.Path) -> None:
    found = _errors(
        tmp_path,
        building.invocation(50, language.CLAIMS, "lost"),
        records.Completion(op=50, outcome="unknown", ts_ns=0),
        building.invocation(51, "resourceclaimtemplates", "template"),
        building.acknowledgement(51, "uid-template", 9),
        *_failed(52, "delete", language.PODS, 404, "NotFound"),  # what is gone needs no deletion
        *_failed(53, "patch", language.PODS, 404, "NotFound"),
        *_failed(54, "create", "resourceclaimtemplates", 409, "AlreadyExists"),
        *(
            msgspec.structs.replace(item, user=records.SET_UP)
            if isinstance(item, records.Invocation)
            else item
            for item in _failed(55, "create", "resourceclaimtemplates", 409, "AlreadyExists")
        ),
    )
    assert (found.problems, found.calls, found.unknown, found.conflicts) == ([], 9, 1, 2)
    assert found.created == {"uid-a", "uid-p"}
    assert found.errors == {
        "create pods 409 AlreadyExists": 1,
        "create resourceclaims no answer": 1,
        "patch pods 404 NotFound": 1,
        "create resourceclaimtemplates 409 AlreadyExists": 1,
    }


REFUSED = "ResourceClaim is invalid: spec.devices.requests[0]: compilation failed: device.foo("


def _refused(count: int) -> damages.Damage:
    calls = [
        _failed(op, "create", language.CLAIMS, 422, "Invalid") for op in range(100, 100 + count)
    ]
    told = [
        msgspec.structs.replace(item, message=REFUSED)
        if isinstance(item, records.Completion)
        else item
        for call in calls
        for item in call
    ]
    return damages.appended(damages.operations, *told)


@pytest.mark.parametrize(
    ("process", "exit_code", "is_told"),
    [
        ("traffic", -9, True),
        ("traffic", 0, True),
        ("recorder", -9, False),
        ("scheduler", -9, False),
    ],
)
def test_a_load_that_ended_badly_names_it_and_other_processes_do_not(
    tmp_path: pathlib.Path, process: str, exit_code: int, is_told: bool
) -> None:
    died = damages.process_died(process, exit_code=exit_code)
    used = {"name": "bursts", "package": "acme", "version": "1"}
    others = {"name": "storms", "package": "acme-faults", "version": "2"}
    plugins = [plans.UsedPlugin(kind="traffic", **used), plans.UsedPlugin(kind="faults", **others)]
    changes = {"plugins": plugins}
    judgement = judged_runs.judge(tmp_path, TEXT, _refused(3), died, changes=changes)
    assert judgement.verdict is UNKNOWN
    whose = "; its users are bursts of acme" if is_told else ""
    assert f"{process} ended unexpectedly or with an error (exit code {exit_code}{whose})" in (
        judgement.reason
    )
    assert (f"422 Invalid: {REFUSED} (3 times)" in judgement.reason) is is_told


PANIC = "started\npanic: nil map\n\ngoroutine 1 [running]:\n"


@pytest.mark.parametrize(
    ("exit_code", "text", "told"),
    [
        (2, PANIC, ": panic: nil map"),
        (-9, PANIC, ": panic: nil map"),
        (1, "started\nno space\n", ": no space"),
        (0, "started\nno space\n", ""),
        (-9, "started\nno space\n", ""),
    ],
)
def test_the_panic_of_a_process_is_quoted_or_the_last_line_of_one_that_failed(
    tmp_path: pathlib.Path, exit_code: int, text: str, told: str
) -> None:
    log, died = damages.logged(text), damages.process_died(exit_code=exit_code)
    needs = plans.Requirements(allocations_min=99, pods_running_min=0)
    judgement = judged_runs.judge(tmp_path, TEXT, died, log, requirements=needs)
    why = "processes: scheduler ended unexpectedly or with an error"
    assert judgement.reason.startswith(f"{why} (exit code {exit_code}){told}; load: ")
    assert judgement.certificate[0].name == "processes", "it explains the others"


# ------------------------------------------------------------------- processes that faults kill


def kubelet_operations(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.operations(building.KUBELET)


CRASH = damages.killed(building.SCHEDULER)


def replaced(directory: directories.RunDirectory) -> None:
    """A fault killed the scheduler, and another one took its place."""
    CRASH(directory)
    damages.before_the_end(
        STARTED(process=SUCCESSOR, pid=2, argv=[], ts_ns=2),
        ENDED(process=SUCCESSOR, pid=2, exit_code=0, expected=True, ts_ns=3),
    )(directory)
    building.write(directory.steps(SUCCESSOR), [STEP], process="scheduler")


@pytest.mark.parametrize("cut", [damages.torn, damages.no_trailer])
def test_journals_of_processes_that_faults_killed_may_be_cut_off(
    tmp_path: pathlib.Path, cut: Any
) -> None:
    lost = damages.killed(building.KUBELET, fault="lost")
    cuts = cut(damages.steps), cut(kubelet_operations)
    judgement = judged_runs.judge(tmp_path, TEXT, CRASH, lost, *cuts, steps=[STEP])
    assert judgement.verdict is VALID
    assert "cut off when the process was killed" in judged_runs.item(judgement, "steps")[1]
    _, told = judged_runs.item(judgement, "processes")
    assert told == "4 processes; kubelet ended by lost; scheduler ended by crash"


def test_calls_under_way_at_a_kill_have_an_unknown_outcome(tmp_path: pathlib.Path) -> None:
    call = damages.appended(kubelet_operations, building.invocation(7, "pods/status", "p"))
    assert (
        judged_runs.judge(tmp_path, TEXT, damages.killed(building.KUBELET), call).verdict is VALID
    )
    totals = journal_totals.read(histories.load(tmp_path / "run"))
    assert (totals.problems, totals.unknown) == ([], 1)


OPEN = damages.no_trailer(damages.steps)


def _emptied(directory: directories.RunDirectory) -> None:
    damages.steps(directory).write_bytes(b"")


def _of_successor(change: Any) -> damages.Damage:
    return lambda directory: change(directory.steps(SUCCESSOR))


@pytest.mark.parametrize(
    ("done", "item"),
    [
        ([damages.killed(building.SCHEDULER, fault="", expected=False), OPEN], "steps"),
        ([damages.killed(building.SCHEDULER, fault="", expected=True), OPEN], "steps"),
        ([damages.killed(building.KUBELET), OPEN], "steps"),
        ([CRASH, damages.missing(damages.steps)], "steps"),
        ([CRASH, damages.garbled(damages.steps)], "files"),
        ([CRASH, damages.of_another_run(damages.steps)], "files"),
        ([CRASH, _emptied], "steps"),
        ([CRASH, damages.no_trailer(damages.observations)], "recorder"),
        ([CRASH, damages.unfinished_call()], "operations"),
        ([damages.killed(building.SCHEDULER, fault="restart", expected=False)], "processes"),
        ([replaced, _of_successor(pathlib.Path.unlink)], "steps"),
        ([replaced, _of_successor(lambda path: path.write_bytes(path.read_bytes()[:-5]))], "steps"),
    ],
)
def test_a_kill_excuses_no_other_damage(
    tmp_path: pathlib.Path, done: list[damages.Damage], item: str
) -> None:
    judgement = judged_runs.judge(tmp_path, TEXT, *done, steps=[STEP])
    assert judgement.verdict is UNKNOWN
    assert item in judged_runs.failed(judgement)


def test_the_journal_of_a_successor_is_read(tmp_path: pathlib.Path) -> None:
    judgement = judged_runs.judge(tmp_path, TEXT, replaced, steps=[STEP])
    assert judgement.verdict is VALID
    assert "scheduler.2: 1 records, file closed" in judged_runs.item(judgement, "steps")[1]


def test_a_violation_is_found_whoever_was_killed(tmp_path: pathlib.Path) -> None:
    torn = damages.torn(damages.steps)
    assert judged_runs.judge(tmp_path, "a+D1 b+D1", CRASH, torn).verdict is INVALID

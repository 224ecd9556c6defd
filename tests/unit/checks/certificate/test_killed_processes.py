"""The certificate on processes that a fault killed, and on those that took their place."""

import pathlib
from collections.abc import Callable

import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.checks.evidence import api_call_totals
from harness.history import directories, histories, records
from tests.histories import building, damages

TEXT = "a+D1 a^p p* b+D2"
SUCCESSOR = "scheduler.2"


def kubelet_operations(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.operations(building.KUBELET)


def killed(process: str, *, fault: str = "crash", expected: bool = True) -> damages.Damage:
    def change(body: damages.Body) -> damages.Body:
        return [
            records.ProcessEnded(
                process=process,
                pid=record.pid,
                exit_code=-9,
                expected=expected,
                fault=fault,
                ts_ns=1,
            )
            if isinstance(record, records.ProcessEnded) and record.process == process
            else record
            for record in body
        ]

    return damages.changed(damages.processes, change)


def replaced(directory: directories.RunDirectory) -> None:
    """A fault killed the scheduler, and another one took its place."""
    killed(building.SCHEDULER)(directory)
    damages.before_the_end(
        records.ProcessStarted(process=SUCCESSOR, pid=2, argv=[], ts_ns=2),
        records.ProcessEnded(process=SUCCESSOR, pid=2, exit_code=0, expected=True, ts_ns=3),
    )(directory)
    step = building.step(0, "scheduling", "gather.started", 2)
    building.write(directory.steps(SUCCESSOR), [step], process="scheduler")


def judged(tmp_path: pathlib.Path, *done: damages.Damage) -> verdict_files.Judgement:
    step = building.step(0, "scheduling", "gather.started", 1)
    directory = building.build(tmp_path / "run", TEXT, steps=[step])
    for damage in done:
        damage(directory)
    return judging.judge(directory)


def reasons(judgement: verdict_files.Judgement, *, ok: bool) -> dict[str, str]:
    return {item.name: item.reason for item in judgement.certificate if item.ok is ok}


@pytest.mark.parametrize("cut", [damages.torn, damages.no_trailer])
def test_journals_of_processes_that_faults_killed_may_be_cut_off(
    tmp_path: pathlib.Path, cut: Callable[[damages.File], damages.Damage]
) -> None:
    judgement = judged(
        tmp_path,
        killed(building.SCHEDULER, fault="crash"),
        killed(building.KUBELET, fault="lost"),
        cut(damages.steps),
        cut(kubelet_operations),
    )
    assert judgement.verdict is verdicts.Verdict.VALID
    yes = reasons(judgement, ok=True)
    assert yes["steps"] == (
        "scheduler: cut off when the process was killed by a fault or lost its lease"
    )
    assert yes["processes"] == "4 processes; kubelet ended by lost; scheduler ended by crash"


def test_calls_under_way_at_a_kill_have_an_unknown_outcome(tmp_path: pathlib.Path) -> None:
    call = building.invocation(7, "pods/status", "p")
    open_call = damages.appended(kubelet_operations, call)
    sound = judged(tmp_path, killed(building.KUBELET), open_call)
    assert sound.verdict is verdicts.Verdict.VALID
    totals = api_call_totals.read(histories.load(tmp_path / "run"))
    assert (totals.problems, totals.unknown) == ([], 1)


@pytest.mark.parametrize(
    "end",
    [
        killed(building.SCHEDULER, fault="", expected=False),
        killed(building.SCHEDULER, fault="", expected=True),
        killed(building.KUBELET),
    ],
    ids=["killed by something else", "no fault is named", "another process was killed"],
)
def test_no_other_process_may_leave_its_journal_open(
    tmp_path: pathlib.Path, end: damages.Damage
) -> None:
    judgement = judged(tmp_path, end, damages.no_trailer(damages.steps))
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "steps" in reasons(judgement, ok=False)


@pytest.mark.parametrize(
    ("damage", "item"),
    [
        (damages.missing(damages.steps), "steps"),
        (damages.garbled(damages.steps), "files"),
        (damages.of_another_run(damages.steps), "files"),
        (lambda directory: damages.steps(directory).write_bytes(b""), "steps"),
        (damages.no_trailer(damages.observations), "recorder"),
        (damages.unfinished_call(), "operations"),
    ],
    ids=["missing", "garbled", "of another run", "empty", "observations", "call of the load"],
)
def test_a_kill_excuses_no_other_damage(
    tmp_path: pathlib.Path, damage: damages.Damage, item: str
) -> None:
    judgement = judged(tmp_path, killed(building.SCHEDULER), damage)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert item in reasons(judgement, ok=False)


def test_a_fault_that_could_not_end_its_process_in_order_is_no_excuse(
    tmp_path: pathlib.Path,
) -> None:
    judgement = judged(tmp_path, killed(building.SCHEDULER, fault="restart", expected=False))
    assert set(reasons(judgement, ok=False)) == {"processes"}


def test_the_journal_of_a_successor_is_expected_and_read(tmp_path: pathlib.Path) -> None:
    judgement = judged(tmp_path, replaced)
    assert judgement.verdict is verdicts.Verdict.VALID
    assert "scheduler.2: 1 records, file closed" in reasons(judgement, ok=True)["steps"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "scheduler.2 left no steps"),
        (lambda path: path.write_bytes(path.read_bytes()[:-5]), "steps of scheduler.2 is incompl"),
    ],
    ids=["missing", "torn"],
)
def test_the_journal_of_a_successor_must_be_complete(
    tmp_path: pathlib.Path, damage: Callable[[pathlib.Path], object], reason: str
) -> None:
    judgement = judged(
        tmp_path,
        replaced,
        lambda directory: damage(directory.steps(SUCCESSOR)),
    )
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert reason in reasons(judgement, ok=False)["steps"]


def test_a_violation_is_found_whoever_was_killed(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 b+D1")
    for damage in (killed(building.SCHEDULER), damages.torn(damages.steps)):
        damage(directory)
    assert judging.judge(directory).verdict is verdicts.Verdict.INVALID

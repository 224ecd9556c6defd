"""Each item of the certificate fails for its damage, and for nothing else."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.checks.evidence import api_call_totals
from harness.history import directories, histories, plans, records
from tests.histories import building, damages, language

TEXT = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1"
SOUND = {
    "files": "6 files",
    "manifest": "the run left no manifest: a change of its files would not be noticed",
    "recorder": "17 records, file closed",
    "first-lists": "2 resources",
    "no-gaps": "8 commits observed",
    "order": "up to resourceVersion 8",
    "final-lists": "5 objects in the final lists, all as expected",
    "records": "13 records",
    "lives": "5 objects",
    "lists": "4 lists",
    "final-objects": "5 objects",
    "references": "0 names",
    "operations": "6 calls, 0 with unknown outcome",
    "acknowledged": "5 pods and claims created; 5 writes",
    "steps": "scheduler: 0 records, file closed",
    "processes": "4 processes",
    "in-time": "no phase timed out; 3 phases",
    "load": "3 allocations (at least 0); 2 pods seen Running (at least 0)",
    "preparations": "0 claims prepared, 0 unprepared",
}
"""The items of a run without damage, and what they say."""


def _is_list(purpose: str, resource: str) -> damages.Damage:
    return damages.dropped(
        damages.observations,
        lambda record: (
            isinstance(record, records.Listed)
            and (record.purpose, record.resource) == (purpose, resource)
        ),
    )


def _lost(resource_version: int) -> damages.Damage:
    return damages.dropped(
        damages.observations,
        lambda record: (
            isinstance(record, records.Observation)
            and record.type != "FINAL"
            and record.resource_version == resource_version
        ),
    )


def _ends(record: records.Body) -> bool:
    return isinstance(record, records.ProcessEnded)


def _begins(record: records.Body) -> bool:
    return isinstance(record, records.Invocation)


def _with_another_version(body: damages.Body) -> damages.Body:
    """A record says the version after that of its object, which is another resource's."""
    return [
        msgspec.structs.replace(item, resource_version=3)
        if isinstance(item, records.Observation) and item.resource_version == 2
        else item
        for item in body
    ]


def _named_by_pods(body: damages.Body) -> damages.Body:
    status = b'"status": {"resourceClaimStatuses": [{"name": "d", "resourceClaimName": "gone"}], '
    return [
        msgspec.structs.replace(
            item, object=msgspec.Raw(bytes(item.object).replace(b'"status": {', status))
        )
        if isinstance(item, records.Observation) and item.resource == language.PODS
        else item
        for item in body
    ]


PARTS = {
    "observations": "recorder",
    "operations": "operations",
    "steps": "steps",
    "processes": "processes",
    "preparations": "preparations",
}
DAMAGES: dict[str, tuple[damages.Damage, set[str]]] = {
    **{
        f"no trailer, {file.__name__}": (damages.no_trailer(file), {PARTS[file.__name__]})
        for file in damages.FILES
    },
    **{
        f"torn, {file.__name__}": (damages.torn(file), {PARTS[file.__name__]})
        for file in damages.FILES
    },
    "no observations": (
        damages.missing(damages.observations),
        {"recorder", "first-lists", "final-lists", "acknowledged"},
    ),
    "no operations": (damages.missing(damages.operations), {"operations"}),
    "no preparations": (damages.missing(damages.preparations), {"preparations"}),
    "no steps": (damages.missing(damages.steps), {"steps"}),
    "no processes": (damages.missing(damages.processes), {"processes", "in-time"}),
    "no first list of claims": (_is_list("first", language.CLAIMS), {"first-lists", "lists"}),
    "no first list of pods": (_is_list("first", language.PODS), {"first-lists", "lists"}),
    "no final list": (_is_list("final", language.PODS), {"final-lists", "lists"}),
    "an event was lost": (_lost(6), {"final-lists", "final-objects"}),
    "a claim was never seen": (_lost(8), {"final-lists", "final-objects", "acknowledged"}),
    "a pod was never seen": (_lost(7), {"final-lists", "final-objects", "acknowledged"}),
    "two events the wrong way round": (damages.swapped(damages.observations, 5, 6), {"order"}),
    "an event twice": (
        damages.changed(damages.observations, lambda body: [*body[:4], body[3], *body[4:]]),
        {"order", "lives"},
    ),
    "a call without an end": (damages.unfinished_call(), {"operations"}),
    "an end without a call": (
        damages.dropped(damages.operations, _begins, first=True),
        {"operations"},
    ),
    "an acknowledged pod that nobody saw": (
        damages.appended(
            damages.operations,
            building.invocation(99, language.PODS, "lost"),
            building.acknowledgement(99, "uid-lost", 99),
        ),
        {"acknowledged"},
    ),
    "a process died": (damages.process_died(), {"processes"}),
    "a process never ended": (damages.dropped(damages.processes, _ends, first=True), {"processes"}),
    "a record with another version than its object": (
        damages.changed(damages.observations, _with_another_version),
        {"records"},
    ),
    "a pod names a claim that was never seen": (
        damages.changed(damages.observations, _named_by_pods),
        {"references"},
    ),
    "the run gave up": (damages.ended_early(), {"processes"}),
    "the time was up": (damages.timed_out(), {"in-time"}),
}


def _judge(
    tmp_path: pathlib.Path, text: str, damage: damages.Damage | None = None, **options: Any
) -> verdict_files.Judgement:
    directory = building.build(tmp_path / "run", text, **options)
    if damage is not None:
        damage(directory)
    return judging.judge(directory)


def _failed(judgement: verdict_files.Judgement) -> set[str]:
    return {item.name for item in judgement.certificate if not item.ok}


@pytest.mark.parametrize(("damage", "expected"), DAMAGES.values(), ids=DAMAGES)
def test_each_damage_fails_its_own_items(
    tmp_path: pathlib.Path, damage: damages.Damage, expected: set[str]
) -> None:
    judgement = _judge(tmp_path, TEXT, damage)
    assert _failed(judgement) == expected
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    for name in expected:
        assert f"{name}: " in judgement.reason


CONTRADICTORY = (
    "a record with another version than its object",
    "an event was lost",
    "a claim was never seen",
    "two events the wrong way round",
    "an event twice",
)
"""Damages that leave a record of claims that contradicts itself."""
OTHERS = {name: damage for name, (damage, _) in DAMAGES.items() if name not in CONTRADICTORY}


@pytest.mark.parametrize("damage", OTHERS.values(), ids=OTHERS)
def test_no_damage_hides_a_violation_that_is_in_the_record(
    tmp_path: pathlib.Path, damage: damages.Damage
) -> None:
    judgement = _judge(tmp_path, "d+D9 a+D1 p* b+D1 a-D1 b^q q* c+D2 a^p", damage)
    has_observations = (tmp_path / "run" / "observations.jsonl").exists()
    expected = verdicts.Verdict.INVALID if has_observations else verdicts.Verdict.UNKNOWN
    assert judgement.verdict is expected


def test_a_sound_directory_has_a_yes_for_every_item(tmp_path: pathlib.Path) -> None:
    judgement = _judge(tmp_path, TEXT)
    assert [(item.name, item.reason) for item in judgement.certificate] == [*SOUND.items()]
    assert all(item.ok for item in judgement.certificate)


# ----------------------------------------------------------------- the writes of the subject


def _writes(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.operations(building.SCHEDULER)


def _with_writes(tmp_path: pathlib.Path, *versions: int) -> directories.RunDirectory:
    """A run whose scheduler kept a journal of its writes: of claim a, with these versions."""
    changes = {"expected_writes": [building.SCHEDULER]}
    directory = building.build(tmp_path / "run", "a+D1 . b+D2 p* b^p", changes=changes)
    body: list[records.Body] = []
    for op, version in enumerate(versions):
        call = building.invocation(op, "resourceclaims/status", "a")
        body.append(msgspec.structs.replace(call, verb="update"))
        body.append(building.acknowledgement(op, "uid-a", version))
    building.write(_writes(directory), body, process=building.SCHEDULER)
    return directory


def _items(directory: directories.RunDirectory) -> dict[str, tuple[bool, str]]:
    return {item.name: (item.ok, item.reason) for item in judging.judge(directory).certificate}


def test_the_subjects_writes_are_counted_and_were_observed(tmp_path: pathlib.Path) -> None:
    items = _items(_with_writes(tmp_path, 1))
    assert items["writes"] == (True, "1 acknowledged writes")
    assert items["acknowledged"] == (True, "3 pods and claims created; 4 writes")


def test_a_write_of_the_subject_that_was_not_observed(tmp_path: pathlib.Path) -> None:
    items = _items(_with_writes(tmp_path, 1, 2))
    reason = "update resourceclaims/status tests/a at resourceVersion 2 was acknowledged"
    assert items["acknowledged"] == (False, f"scheduler: {reason} and never observed")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damages.missing(_writes), "scheduler left no journal of its writes"),
        (damages.no_trailer(_writes), "the writes of scheduler have no trailer: the writer was not closed"),
        (damages.torn(_writes), "the last line of the writes of scheduler is incomplete: the writer was killed"),
    ],
)  # fmt: skip
def test_the_journal_of_the_subjects_writes_has_to_be_complete(
    tmp_path: pathlib.Path, damage: damages.Damage, reason: str
) -> None:
    directory = _with_writes(tmp_path, 1)
    damage(directory)
    assert judging.judge(directory).verdict is verdicts.Verdict.UNKNOWN
    assert _items(directory)["writes"] == (False, reason)


# ----------------------------------------------------------------------------------- others


def _recorder_says(tmp_path: pathlib.Path, damage: damages.Damage) -> str:
    [item] = [item for item in _judge(tmp_path, TEXT, damage).certificate if not item.ok]
    return item.reason


def test_a_torn_line_is_told_from_a_missing_trailer(tmp_path: pathlib.Path) -> None:
    torn = _recorder_says(tmp_path / "torn", damages.torn(damages.observations))
    assert torn == "the last line of the observations is incomplete: the writer was killed"
    missing = _recorder_says(tmp_path / "missing", damages.no_trailer(damages.observations))
    assert missing == "the observations have no trailer: the writer was not closed"


def test_something_after_the_trailer_is_not_in_order_either(tmp_path: pathlib.Path) -> None:
    def append(directory: directories.RunDirectory) -> None:
        content = directory.observations.read_bytes()
        directory.observations.write_bytes(content + b"{")

    assert "is incomplete" in _recorder_says(tmp_path, append)


def _of(process: str, *kinds: type[records.Body]) -> damages.Damage:
    return damages.dropped(
        damages.processes,
        lambda record: isinstance(record, kinds) and getattr(record, "process", "") == process,
    )


def _twice(kind: type[records.Body]) -> damages.Damage:
    return damages.changed(
        damages.processes,
        lambda body: [one for item in body for one in [item] * (1 + isinstance(item, kind))],
    )


STARTED, ENDED = records.ProcessStarted, records.ProcessEnded


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_of("recorder", STARTED, ENDED), "processes: recorder never started"),
        (_of("scheduler", STARTED, ENDED), "processes: scheduler never started"),
        (_of("kubelet", STARTED, ENDED), "processes: kubelet never started"),
        (_of("kubelet", ENDED), "processes: kubelet never ended"),
        (
            _of("traffic", STARTED),
            "processes: traffic ended, but never started",
        ),
        (
            _twice(STARTED),
            "processes: kubelet started twice; recorder started twice; scheduler started twice; traffic started twice",
        ),
        (
            _twice(ENDED),
            "processes: kubelet ended twice; recorder ended twice; scheduler ended twice; traffic ended twice",
        ),
        (
            damages.appended(damages.processes, records.Phase(name="ended", ts_ns=9)),
            "in-time: the phase 'ended' is not the last one",
        ),
        (
            damages.appended(damages.processes, records.Phase(name="load", ts_ns=9)),
            "in-time: the phase 'ended' is not the last one",
        ),
    ],
)
def test_a_run_that_did_not_take_its_course(
    tmp_path: pathlib.Path, damage: damages.Damage, reason: str
) -> None:
    judgement = _judge(tmp_path, TEXT, damage)
    assert (judgement.verdict, judgement.reason) == (verdicts.Verdict.UNKNOWN, reason)


def test_the_plan_names_the_processes_that_must_start(tmp_path: pathlib.Path) -> None:
    changes = {"expected_processes": ["recorder", "traffic"]}
    without = _of("traffic", STARTED, ENDED)
    assert _judge(tmp_path / "1", TEXT, without).verdict is verdicts.Verdict.VALID
    judgement = _judge(tmp_path / "2", TEXT, without, changes=changes)
    assert judgement.reason == "processes: traffic never started"
    without = _of("kubelet", STARTED, ENDED)
    judgement = _judge(tmp_path / "3", TEXT, without, changes=changes)
    assert judgement.verdict is verdicts.Verdict.VALID


def test_the_actors_of_an_explored_run_are_no_processes(tmp_path: pathlib.Path) -> None:
    without = _of("scheduler", STARTED, ENDED)
    judgement = _judge(tmp_path, TEXT, without, changes={"settings": {"token": "w/1"}})
    assert judgement.verdict is verdicts.Verdict.VALID


def test_every_item_is_failed_by_some_test() -> None:
    by_damage = {name for _, expected in DAMAGES.values() for name in expected}
    assert by_damage | {"no-gaps", "load", "files", "manifest"} == set(SOUND)


@pytest.mark.parametrize("text", ["a+D1 [ . ] a~", "a+D1 [ b+D2 ] p*", "[ a+D1 ]"])
def test_a_gap_makes_unknown(tmp_path: pathlib.Path, text: str) -> None:
    judgement = _judge(tmp_path, text)
    assert _failed(judgement) == {"no-gaps"}
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert "resourceclaims after" in judgement.reason
    assert "410 Expired: too old" in judgement.reason


def test_a_gap_that_swallowed_a_whole_claim_is_noticed_twice(tmp_path: pathlib.Path) -> None:
    assert _failed(_judge(tmp_path, "a+D1 [ b+D2 b~ ]")) == {"no-gaps", "acknowledged"}


@pytest.mark.parametrize(
    ("least", "reason"),
    [
        ({"allocations_min": 4}, "load: 3 allocations, expected at least 4"),
        ({"pods_running_min": 3}, "load: 2 pods seen Running, expected at least 3"),
    ],
)
def test_too_little_load_makes_unknown(
    tmp_path: pathlib.Path, least: dict[str, int], reason: str
) -> None:
    wanted = plans.Requirements(**{"allocations_min": 3, "pods_running_min": 2} | least)
    judgement = _judge(tmp_path, TEXT, requirements=wanted)
    assert _failed(judgement) == {"load"}
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert judgement.reason == (
        f"{reason}; the most frequent API error: create pods 409 AlreadyExists (once)"
    )


def test_just_enough_load_is_enough(tmp_path: pathlib.Path) -> None:
    wanted = plans.Requirements(allocations_min=3, pods_running_min=2)
    assert _judge(tmp_path, TEXT, requirements=wanted).verdict is verdicts.Verdict.VALID


@pytest.mark.parametrize("file", damages.FILES, ids=lambda file: file.__name__)
def test_a_damaged_middle_makes_unknown(tmp_path: pathlib.Path, file: damages.File) -> None:
    step = building.step(1, "scheduling", "gather.started", language.at(1))
    directory = building.build(tmp_path / "run", TEXT, steps=[step])
    damages.garbled(file)(directory)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert f"files: {file(directory).name}, line 2: expected a complete record" in judgement.reason
    assert "restore the file or run again" in judgement.reason


def test_an_object_that_is_none_is_damage_too(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 b+D2")
    lines = directory.observations.read_bytes().splitlines(keepends=True)
    number = next(i for i, line in enumerate(lines) if b'"metadata"' in line)
    lines[number] = lines[number].replace(b'"metadata"', b'"metadatum"')
    directory.observations.write_bytes(b"".join(lines))
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert f"observations.jsonl, line {number + 1}: expected an object" in judgement.reason


def test_operations_are_tallied(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 p*")
    unknown = records.Completion(op=50, outcome="unknown", ts_ns=0)
    damages.appended(
        damages.operations,
        building.invocation(50, language.CLAIMS, "lost"),
        unknown,
        building.invocation(51, "resourceclaimtemplates", "template"),
        building.acknowledgement(51, "uid-template", 9),
    )(directory)
    operations = api_call_totals.read(histories.load(directory.path))
    assert operations.problems == []
    assert (operations.calls, operations.unknown) == (5, 1)
    assert operations.created == {"uid-a", "uid-p"}
    assert operations.errors == {
        "create pods 409 AlreadyExists": 1,
        "create resourceclaims no answer": 1,
    }


def test_a_shared_object_that_another_worker_has_created_is_no_error(
    tmp_path: pathlib.Path,
) -> None:
    directory = building.build(tmp_path / "run", "a+D1 p*")
    exists = {"outcome": "fail", "ts_ns": 0, "status": 409, "reason": "AlreadyExists"}
    calls: list[records.Body] = []
    for op, user in ((50, records.SET_UP), (51, "traffic-0/user-0")):
        call = building.invocation(op, "resourceclaimtemplates", "template")
        calls += [
            msgspec.structs.replace(call, user=user),
            records.Completion(op=op, **exists),  # type: ignore[arg-type]
        ]
    damages.appended(damages.operations, *calls)(directory)
    operations = api_call_totals.read(histories.load(directory.path))
    assert operations.errors["create resourceclaimtemplates 409 AlreadyExists"] == 1


@pytest.mark.parametrize(("verb", "is_error"), [("delete", False), ("patch", True)])
def test_a_deletion_of_what_is_gone_is_no_error(
    tmp_path: pathlib.Path, verb: Any, is_error: bool
) -> None:
    directory = building.build(tmp_path / "run", "a+D1 p*")
    call = msgspec.structs.replace(building.invocation(50, language.PODS, "p"), verb=verb)
    end = records.Completion(op=50, outcome="fail", ts_ns=0, status=404, reason="NotFound")
    damages.appended(damages.operations, call, end)(directory)
    operations = api_call_totals.read(histories.load(directory.path))
    assert (f"{verb} pods 404 NotFound" in operations.errors) is is_error


def _surge(count: int) -> damages.Damage:
    """Some pods that a user has begun beside others, and a wait that ended well."""
    ran = records.Waited(
        user="traffic-0/user-0",
        resource="pods",
        namespace="default",
        name="p",
        goal="Running",
        reached=True,
        started_ns=0,
        ts_ns=1,
    )
    beside = msgspec.structs.replace(ran, reached=False, begun_beside="q")
    return damages.appended(damages.operations, ran, *[beside] * count)


@pytest.mark.parametrize("least", [3, 4])
def test_the_load_tells_how_much_users_have_begun_beside_what_waited(
    tmp_path: pathlib.Path, least: int
) -> None:
    wanted = plans.Requirements(allocations_min=least, pods_running_min=0)
    judgement = _judge(tmp_path, TEXT, _surge(1200), requirements=wanted)
    (load,) = (item for item in judgement.certificate if item.name == "load")
    assert load.ok == (least == 3)
    assert "; 1,200 claims or pods begun beside others that users waited for" in load.reason


REFUSED = "ResourceClaim is invalid: spec.devices.requests[0]: compilation failed: device.foo("


def _refused(count: int) -> damages.Damage:
    more: list[records.Body] = []
    for op in range(100, 100 + count):
        more.append(building.invocation(op, language.CLAIMS, f"claim-{op}"))
        more.append(
            records.Completion(
                op=op, outcome="fail", ts_ns=0, status=422, reason="Invalid", message=REFUSED
            )
        )
    return damages.appended(damages.operations, *more)


def test_too_little_load_names_the_most_frequent_error(tmp_path: pathlib.Path) -> None:
    wanted = plans.Requirements(allocations_min=200, pods_running_min=0)
    judgement = _judge(tmp_path, TEXT, _refused(1204), requirements=wanted)
    assert judgement.reason == (
        "load: 3 allocations, expected at least 200; the most frequent API error: "
        f"create resourceclaims 422 Invalid: {REFUSED} (1,204 times)"
    )


@pytest.mark.parametrize("exit_code", [-9, 0])
def test_so_does_a_load_that_ended_badly(tmp_path: pathlib.Path, exit_code: int) -> None:
    directory = building.build(tmp_path / "run", TEXT)
    for damage in (_refused(3), damages.process_died("traffic", exit_code=exit_code)):
        damage(directory)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    assert judgement.reason == (
        f"processes: traffic ended unexpectedly or with an error (exit code {exit_code}); the most "
        f"frequent API error: create resourceclaims 422 Invalid: {REFUSED} (3 times)"
    )


@pytest.mark.parametrize(
    ("exit_code", "said"),
    [(2, ": panic: nil map"), (1, ": panic: nil map"), (-9, ": panic: nil map")],
)
def test_the_panic_of_a_process_is_quoted(
    tmp_path: pathlib.Path, exit_code: int, said: str
) -> None:
    directory = building.build(tmp_path / "run", TEXT)
    damages.process_died(exit_code=exit_code)(directory)
    directory.logs.mkdir(exist_ok=True)
    directory.log(building.SCHEDULER).write_text(
        "started\npanic: nil map\n\ngoroutine 1 [running]:\n"
    )
    assert f"(exit code {exit_code}){said}" in judging.judge(directory).reason


@pytest.mark.parametrize("process", ["recorder", building.SCHEDULER])
def test_other_processes_do_not_die_of_it(tmp_path: pathlib.Path, process: str) -> None:
    directory = building.build(tmp_path / "run", TEXT)
    for damage in (_refused(3), damages.process_died(process)):
        damage(directory)
    assert "most frequent" not in judging.judge(directory).reason


def test_journals_without_messages_are_read_as_well(tmp_path: pathlib.Path) -> None:
    directory = building.build(
        tmp_path / "run",
        TEXT,
        requirements=plans.Requirements(allocations_min=9, pods_running_min=0),
    )
    path = damages.operations(directory)
    path.write_bytes(path.read_bytes().replace(b'"message":"",', b""))
    assert judging.judge(directory).reason.endswith(
        "the most frequent API error: create pods 409 AlreadyExists (once)"
    )

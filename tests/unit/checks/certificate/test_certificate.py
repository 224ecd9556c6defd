"""Each item of the certificate fails for its damage, and for nothing else."""

import pathlib
import re
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdicts
from harness.history import directories, plans, records
from tests.histories import building, damages, judged_runs, language

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
TEXT = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1"


def _list(purpose: str, resource: str) -> damages.Damage:
    return damages.dropped(
        damages.observations,
        lambda record: (
            isinstance(record, records.Listed)
            and (record.purpose, record.resource) == (purpose, resource)
        ),
    )


def _event(resource_version: int) -> damages.Damage:
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
    status = '"status": {"resourceClaimStatuses": [{"name": "d", "resourceClaimName": "gone"}], '
    return language.replaced(body, '"status": {', status, resource=language.PODS)


PARTS = ["processes", "recorder", "operations", "steps", "preparations"]
SEEN, CALLS = damages.observations, damages.operations
UNSEEN = "final-lists final-objects acknowledged"
LOST = [
    building.invocation(99, language.PODS, "lost"),
    building.acknowledgement(99, "uid-lost", 99),
]
REBOOT = f"{TEXT} /reboot-node:=kubelet>3"
BOTH = f"{REBOOT} /kill-process:=kubelet>3"
FOUND = records.NodeRebooted(node="worker-0", boot_id="b", ts_ns=1)
DAMAGES: dict[str, tuple[str, damages.Damage]] = {
    **{f"no trailer, {part}": (part, damages.no_trailer(file)) for part, file in zip(PARTS, damages.FILES, strict=True)},
    **{f"torn, {part}": (part, damages.torn(file)) for part, file in zip(PARTS, damages.FILES, strict=True)},
    "no observations": ("recorder first-lists final-lists acknowledged", damages.missing(SEEN)),
    "no operations": ("operations", damages.missing(CALLS)),
    "no preparations": ("preparations", damages.missing(damages.preparations)),
    "no steps": ("steps", damages.missing(damages.steps)),
    "no processes": ("processes in-time", damages.missing(damages.processes)),
    "no first list of claims": ("first-lists lists", _list("first", language.CLAIMS)),
    "no first list of pods": ("first-lists lists", _list("first", language.PODS)),
    "no final list": ("final-lists lists", _list("final", language.PODS)),
    "an event was lost": ("final-lists final-objects", _event(6)),
    "a claim was never seen": (UNSEEN, _event(8)),
    "a pod was never seen": (UNSEEN, _event(7)),
    "two events the wrong way round": ("order", damages.swapped(SEEN, 5, 6)),
    "an event twice": ("order lives", damages.changed(SEEN, lambda body: [*body[:4], body[3], *body[4:]])),
    "a call without an end": ("operations", damages.unfinished_call()),
    "an end without a call": ("operations", damages.dropped(CALLS, _begins, first=True)),
    "an acknowledged pod that nobody saw": ("acknowledged", damages.appended(CALLS, *LOST)),
    "a process died": ("processes", damages.process_died()),
    "a process never ended": ("processes", damages.dropped(damages.processes, _ends, first=True)),
    "a record with another version than its object": ("records", damages.changed(SEEN, _with_another_version)),
    "a pod names a claim that was never seen": ("references", damages.changed(SEEN, _named_by_pods)),
    "the run gave up": ("processes", damages.ended_early()),
    "the time was up": ("in-time", damages.timed_out()),
}  # fmt: skip
DOUBTFUL = {
    "no observations",
    "a record with another version than its object",
    "an event was lost",
    "a claim was never seen",
    "two events the wrong way round",
    "an event twice",
}
"""Damages that leave no record of claims, or one that contradicts itself."""


@pytest.mark.parametrize("name", DAMAGES)
def test_each_damage_fails_its_own_items(tmp_path: pathlib.Path, name: str) -> None:
    expected, damage = DAMAGES[name]
    judgement = judged_runs.judge(tmp_path, TEXT, damage)
    assert judged_runs.failed(judgement).keys() == {*expected.split()}
    assert judgement.verdict is UNKNOWN
    assert all(f"{item}: " in judgement.reason for item in expected.split())


@pytest.mark.parametrize("name", DAMAGES)
def test_few_damages_put_a_violation_of_the_record_in_doubt(
    tmp_path: pathlib.Path, name: str
) -> None:
    _, damage = DAMAGES[name]
    judgement = judged_runs.judge(tmp_path, "d+D9 a+D1 p* b+D1 a-D1 b^q q* c+D2 a^p", damage)
    assert judgement.verdict is (UNKNOWN if name in DOUBTFUL else INVALID)


def test_all_items_of_a_sound_run_hold_and_have_a_damage(tmp_path: pathlib.Path) -> None:
    items = judged_runs.judge(tmp_path, TEXT).certificate
    assert all(item.ok and item.reason for item in items)
    damaged = {name for names, _ in DAMAGES.values() for name in names.split()}
    assert {item.name for item in items} - damaged == {"no-gaps", "load", "files", "manifest"}


@pytest.mark.parametrize("text", ["a+D1 [ . ] a~", "a+D1 [ b+D2 ] p*", "[ a+D1 ]"])
def test_a_gap_makes_unknown(tmp_path: pathlib.Path, text: str) -> None:
    judgement = judged_runs.judge(tmp_path, text)
    assert judgement.verdict is UNKNOWN
    assert judged_runs.failed(judgement).keys() == {"no-gaps"}
    assert "resourceclaims after" in judgement.reason
    assert "410 Expired: too old" in judgement.reason


def test_a_gap_that_swallowed_a_whole_claim_is_noticed_twice(tmp_path: pathlib.Path) -> None:
    judgement = judged_runs.judge(tmp_path, "a+D1 [ b+D2 b~ ]")
    assert judged_runs.failed(judgement).keys() == {"no-gaps", "acknowledged"}
    assert judged_runs.judge(tmp_path / "2", "a+D1 c+D1 [ b+D2 b~ ]").verdict is INVALID


@pytest.mark.parametrize(
    ("text", "body", "name", "answer"),
    [
        (TEXT, [], "revisions", (True, "8 revisions, from 1 to 8")),
        ("", [], "revisions", (True, "no revisions")),
        (REBOOT, [], "preparations", (False, "1 reboot of nodes, of which kubelets have found 0")),
        (BOTH, [FOUND], "preparations", (True, "0 claims prepared, 0 unprepared")),
    ],
)
def test_what_some_runs_are_asked(
    tmp_path: pathlib.Path, text: str, body: list[records.Body], name: str, answer: tuple[bool, str]
) -> None:
    dense = {"dense_revisions": True}
    judgement = judged_runs.judge(tmp_path, text, preparations=body, changes=dense)
    assert judged_runs.item(judgement, name) == answer


# ----------------------------------------------------------------- the writes of the subject


def _writes(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.operations(building.SCHEDULER)


def _with_writes(folder: pathlib.Path, *versions: int) -> directories.RunDirectory:
    """A run whose scheduler kept a journal of its writes: of claim a, with these versions."""
    changes = {"expected_writes": [building.SCHEDULER]}
    directory = building.build(folder / "run", "a+D1 . b+D2 p* b^p", changes=changes)
    body: list[records.Body] = []
    for op, version in enumerate(versions):
        call = building.invocation(op, "resourceclaims/status", "a")
        body.append(msgspec.structs.replace(call, verb="update"))
        body.append(building.acknowledgement(op, "uid-a", version))
    building.write(_writes(directory), body, process=building.SCHEDULER)
    return directory


def test_the_subjects_writes_are_counted_and_must_have_been_observed(
    tmp_path: pathlib.Path,
) -> None:
    seen = judging.judge(_with_writes(tmp_path / "seen", 1))
    assert judged_runs.item(seen, "writes") == (True, "1 acknowledged writes")
    assert judged_runs.item(seen, "acknowledged") == (True, "3 pods and claims created; 4 writes")
    unseen = judging.judge(_with_writes(tmp_path / "unseen", 1, 2))
    call = "scheduler: update resourceclaims/status tests/a at resourceVersion 2"
    assert judged_runs.failed(unseen)["acknowledged"].startswith(f"{call} was acknowledged")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damages.missing, "scheduler left no journal of its writes"),
        (damages.no_trailer, "the writes of scheduler have no trailer"),
        (damages.torn, "the last line of the writes of scheduler is incomplete"),
    ],
)
def test_the_journal_of_the_subjects_writes_has_to_be_complete(
    tmp_path: pathlib.Path, damage: Any, reason: str
) -> None:
    directory = _with_writes(tmp_path, 1)
    damage(_writes)(directory)
    judgement = judging.judge(directory)
    assert judgement.verdict is UNKNOWN
    assert judged_runs.failed(judgement)["writes"].startswith(reason)


# ------------------------------------------------------------------------------- the load


@pytest.mark.parametrize(
    ("allocations", "pods", "reason"),
    [
        (3, 2, ""),
        (4, 2, "load: 3 allocations, expected at least 4"),
        (3, 3, "load: 2 pods seen Running, expected at least 3"),
    ],
)
def test_too_little_load_makes_unknown_and_names_an_error(
    tmp_path: pathlib.Path, allocations: int, pods: int, reason: str
) -> None:
    wanted = plans.Requirements(allocations_min=allocations, pods_running_min=pods)
    judgement = judged_runs.judge(tmp_path, TEXT, requirements=wanted)
    assert judgement.verdict is (UNKNOWN if reason else VALID)
    error = "; the most frequent API error: create pods 409 AlreadyExists (once)"
    assert not reason or judgement.reason == reason + error


NEVER_BOUND, BOUND, PANIC = "p:a a+D1 a^p", "p:a a+D1 a^p p>n", damages.logged("panic: x\n")
UNBOUND, SHORT = (
    "load: no pod was bound by the scheduler; ",
    "0 pods seen Running, expected at least 1",
)


@pytest.mark.parametrize(
    ("text", "damage", "said"),
    [
        (NEVER_BOUND, damages.no_trailer(CALLS), UNBOUND + SHORT),
        (NEVER_BOUND, damages.garbled(SEEN, 6), "files: "),
        (NEVER_BOUND, PANIC, f"{UNBOUND}its log has: panic: x; {SHORT}"),
        (NEVER_BOUND, damages.logged("x\n"), UNBOUND + SHORT),
        (BOUND, PANIC, f"load: {SHORT}; the most frequent API error: create pods 409"),
        (
            BOUND,
            damages.dropped(CALLS, lambda item: getattr(item, "op", 1) == 0),
            f"load: {SHORT}$",
        ),
    ],
)
def test_a_run_that_bound_no_pod_says_so_if_all_was_seen(
    tmp_path: pathlib.Path, text: str, damage: damages.Damage, said: str
) -> None:
    wanted = plans.Requirements(allocations_min=1, pods_running_min=1)
    judgement = judged_runs.judge(tmp_path, text, damage, requirements=wanted)
    assert judgement.verdict is UNKNOWN
    assert re.match(said, judgement.reason)

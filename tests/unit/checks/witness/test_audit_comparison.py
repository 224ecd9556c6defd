"""The item of the certificate: whether the audit log tells the same, in words."""

import datetime
import gzip
import json
import os
import pathlib
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdicts
from harness.checks.witness import (
    audit_comparison,
    audit_events,
    hidden_writes,
    witnessed_writes,
)
from harness.history import directories, plans, records
from tests.histories import audit_logs, building, dense_histories, language
from tests.support import text_tables

TEXT = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1"
FEW = plans.Requirements(allocations_min=1, pods_running_min=1)
WITHOUT_BODIES = b"".join(
    audit_logs.line(event | {"responseObject": None, "level": "Metadata"})
    for event in audit_logs.events(TEXT)
)


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return building.build(tmp_path / "run", TEXT, audited=True, requirements=FEW)


def item(
    directory: directories.RunDirectory, *brought: pathlib.Path
) -> verdicts.CertificateItem | None:
    judgement = judging.examine(directory, witness=brought).judgement
    (found,) = [one for one in judgement.certificate if one.name == "witness"] or [None]
    if found is not None and not found.ok:
        assert judgement.verdict is not verdicts.Verdict.VALID
    return found


def log(directory: directories.RunDirectory) -> pathlib.Path:
    return directory.audit / "audit.log"


def test_a_run_with_its_audit_log_is_valid(directory: directories.RunDirectory) -> None:
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.VALID, judgement.reason
    found = item(directory)
    assert found is not None
    assert found.question == "Does the audit log tell the same?"
    assert found.reason == "8 writes and 3 holds are the same in 8 events (0.0 MiB)"
    assert "audit/audit.log" in judgement.evidence


def test_a_run_without_one_is_not_asked(tmp_path: pathlib.Path) -> None:
    plain = building.build(tmp_path / "run", TEXT, requirements=FEW)
    assert item(plain) is None
    own, empty = building.build(tmp_path / "own", TEXT, audited=True), tmp_path / "empty.log"
    empty.touch()
    instead = item(own, empty)
    assert instead is not None
    assert not instead.ok, "the log that is brought is asked instead of the run's own"
    brought = tmp_path / "brought.log.gz"
    brought.write_bytes(gzip.compress(audit_logs.lines(TEXT)))
    found = item(plain, brought)
    assert found is not None
    assert found.ok, found.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "there is no audit log, though the plan expects one"),
        (b"", "the audit log has no events"),
        (b"\x00\x01\n", "the audit log has no events; audit.log, line 1: expected an audit event"),
        (
            WITHOUT_BODIES,
            "only requests that tell no object, the first is there without its objects",
        ),
        (
            audit_logs.lines(TEXT).replace(b"uid-", b"other-"),
            "8 differences|none of the 8 observed writes is in the audit log",
        ),
        (audit_logs.lines(TEXT)[:-400], "writes may be missing for it"),
        (
            b"".join(audit_logs.line(event) for event in audit_logs.events(TEXT)[3:]),
            "the log begins at revision 3 only|the log begins at revision 4 only",
        ),
    ],
)
def test_what_is_wrong_with_the_log_is_said(
    directory: directories.RunDirectory, content: bytes | None, reason: str
) -> None:
    log(directory).unlink()
    if content is not None:
        log(directory).write_bytes(content)
    found = item(directory)
    assert found is not None
    assert not found.ok
    assert any(words in found.reason for words in reason.split("|")), found.reason


def test_damage_for_which_no_write_is_missing_does_not_matter(
    directory: directories.RunDirectory,
) -> None:
    lines = log(directory).read_bytes()
    log(directory).write_bytes(b"panic: some other program\n" + lines + lines[:30])
    found = item(directory)
    assert found is not None
    assert found.ok
    assert "the log has 2 damaged lines (no write was missing for it), first audit.log, line 1" in (
        found.reason
    )


def test_a_run_that_observed_nothing_has_nothing_to_compare(tmp_path: pathlib.Path) -> None:
    empty = building.build(tmp_path / "run", ".", audited=True)
    (empty.audit / "audit.log").write_bytes(audit_logs.lines(TEXT))
    found = item(empty)
    assert found is not None
    assert (found.ok, "nothing to compare" in found.reason) == (False, True)
    full = audit_comparison.AuditLog([log(empty)], namespace=language.NAMESPACE)
    full.reader.events = 8
    assert not audit_comparison.answer(full, audit_comparison.Comparison(holds=1))[0]


def test_a_write_that_was_lost_as_the_api_server_was_killed_is_no_difference(
    tmp_path: pathlib.Path,
) -> None:
    text = TEXT.replace("b+D2", "b+D2 /restart-api-server:=api-server")
    killed = building.build(tmp_path / "run", text, audited=True)
    told = audit_logs.events(text)
    for version, event in enumerate(told, 1):
        time = datetime.datetime.fromtimestamp(language.at(version) / 1e9, datetime.UTC)
        event["requestReceivedTimestamp"] = event["stageTimestamp"] = time.isoformat()
    log(killed).write_bytes(b"".join(map(audit_logs.line, [*told[:3], *told[4:]])))
    found = item(killed)
    assert found is not None
    assert found.ok, found.reason
    assert "; 1 more were committed as the API server was killed" in found.reason


def heard(*versions: int, first: int = 5) -> str:
    """The answer of two witnesses that differ at these revisions.

    The log begins at revision `first`; 0: it has no writes.
    """
    log = audit_comparison.AuditLog([pathlib.Path("audit.log")], namespace="n")
    log.reader.events = 9
    if first:
        log.folded.adopt("pods", witnessed_writes.state_of({"metadata": META}), is_deletion=False)
    compared = audit_comparison.Comparison(writes=9, confirmed=1)
    compared.note(
        hidden_writes.Difference(what=f"claim n/{version}", version=version, watch="a", audit="b")
        for version in versions
    )
    ok, reason = audit_comparison.answer(log, compared)
    assert not ok
    return reason.split("; the log has")[0]


META = {"name": "p", "uid": "u", "resourceVersion": "5"}


def test_differences_are_counted_and_the_first_ones_are_told() -> None:
    one = "claim n/7 at revision 7: the watch a, the audit log b"
    assert heard(7) == f"1 difference: {one}"
    assert heard(7, 8).startswith(f"2 differences: {one}; claim n/8 at revision 8")
    many = heard(*range(7, 16))
    assert many.count("the watch a") == audit_comparison.SHOWN_MAX
    assert many.endswith(f"and {9 - audit_comparison.SHOWN_MAX} more")


def test_a_dispute_counts_beyond_the_differences_that_are_kept() -> None:
    compared = audit_comparison.Comparison()
    for number in range(audit_comparison.KEPT_MAX + 2):
        is_last = number > audit_comparison.KEPT_MAX
        compared.note(
            [hidden_writes.Difference(what="x", watch="a", audit="b", is_disputed=is_last)]
        )
        assert compared.is_disputed is is_last
    assert len(compared.differences) == audit_comparison.KEPT_MAX
    assert compared.difference_count == audit_comparison.KEPT_MAX + 2


def test_a_log_that_begins_after_a_difference_says_so() -> None:
    late = "the log begins at revision 5 only: are earlier parts missing?"
    assert late in heard(4, 7)
    assert late not in heard(0, 5)  # 0: a difference without a revision
    assert late not in heard(0) + heard(7, first=0)
    bound = audit_events.Hidden(kind="bound", resource="pods", namespace="n", name="p")
    assert hidden_writes.difference("pods", bound, "a", "b").version == 0


HISTORIES = int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000")) // 50
LIVES = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1 a~"


compare = audit_logs.compared


def texts(found: audit_comparison.Comparison) -> str:
    """All differences in words; the count is exact."""
    assert len(found.differences) == min(found.difference_count, audit_comparison.KEPT_MAX)
    return "\n".join(item.text for item in found.differences)


def test_random_histories_agree_and_each_lost_write_is_named() -> None:
    stream = random.Random(14)
    for _ in range(HISTORIES):
        text = dense_histories.draw(stream, stream.randint(2, 14), gaps=0)
        seen, told = language.observe(text), audit_logs.events(text)
        found = compare(seen, stream.sample(told, len(told)))
        assert not found.difference_count, (text, texts(found))
        assert found.writes == found.confirmed == len(told)
        for index, event in enumerate(told):
            lost = compare(seen, [*told[:index], *told[index + 1 :]])
            name = event["responseObject"]["metadata"]["name"]
            assert f"{language.NAMESPACE}/{name}" in texts(lost), (text, event)
            assert "no such write" in texts(lost)


def test_each_lost_or_changed_observation_of_random_histories_is_named() -> None:
    stream = random.Random(41)
    for _ in range(HISTORIES):
        text = dense_histories.draw(stream, stream.randint(2, 14), gaps=0)
        seen, told = language.observe(text), audit_logs.events(text)
        if not told:
            continue
        events = [
            index
            for index, item in enumerate(seen)
            if isinstance(item, records.Observation) and item.type != "FINAL"
        ]
        index = stream.choice(events)
        observation = seen[index]
        assert isinstance(observation, records.Observation)
        name = json.loads(bytes(observation.object))["metadata"]["name"]
        lost = compare([*seen[:index], *seen[index + 1 :]], told)
        assert (
            f"/{name} at revision {observation.resource_version}: the watch saw nothing"
            in texts(lost)
        ), text
        changed = compare([*seen[:index], _changed(observation, stream), *seen[index + 1 :]], told)
        assert f"/{name} at revision {observation.resource_version}" in texts(changed), text


def _changed(item: records.Observation, stream: random.Random) -> records.Observation:
    value = json.loads(bytes(item.object))
    match stream.choice(["status", "uid"]):
        case "status":
            result = {"request": "r", "driver": "d", "pool": "p", "device": "D9"}
            value["status"] = {"allocation": {"devices": {"results": [result]}}}
        case _:
            value["metadata"]["uid"] = "another"
    return msgspec.structs.replace(item, object=msgspec.Raw(json.dumps(value).encode()))


@pytest.mark.parametrize(
    ("seen", "told", "expected"), text_tables.cases(__file__, "compared_histories.txt")
)
def test_both_sides_are_in_the_words_of_a_difference(seen: str, told: str, expected: str) -> None:
    found = texts(compare(language.observe(seen), audit_logs.events(told))).splitlines()
    fragments = expected.split(" ; ") if expected else []
    assert len(found) == len(fragments), found
    assert all(part in text for part, text in zip(fragments, found, strict=True)), found


def _listed_at(version: int, text: str) -> list[records.Body]:
    """The records of a history whose lists are of a later revision."""
    return [
        msgspec.structs.replace(item, resource_version=version)
        if isinstance(item, records.Listed)
        else item
        for item in language.observe(text)
    ]


def test_what_was_before_the_first_list_and_elsewhere_is_not_compared() -> None:
    before = audit_logs.events("a+D1 b+D2 b~ a~")
    assert not compare(_listed_at(5, ".4"), before).difference_count
    assert not compare(_listed_at(2, ".2"), audit_logs.events("a+D1 a~")).difference_count
    other, resources = audit_logs.events("x+D1"), (language.CLAIMS, language.PODS, language.EVENTS)
    other[0]["responseObject"]["metadata"]["namespace"] = "other"
    assert not compare(
        [
            language.gap(language.EVENTS, 1),
            *language.observe(f". {LIVES} .", resources=resources),
        ],
        [*audit_logs.events(f". {LIVES}"), *other],
    ).difference_count


def _without(text: str, unwanted: Callable[[records.Body], bool]) -> list[records.Body]:
    return [item for item in language.observe(text) if not unwanted(item)]


def test_the_last_revision_before_a_gap_must_have_been_seen() -> None:
    seen = _without("a+D1 a~ [ . ]", lambda item: getattr(item, "type", "") == "DELETED")
    assert texts(compare(seen, audit_logs.events("a+D1 a~"))) == (
        "claim tests/a at revision 2: the watch saw nothing, the audit log has its deletion"
    )


@pytest.mark.parametrize("purpose", ["first", "final"])
def test_without_a_first_or_final_list_no_hold_is_compared(purpose: str) -> None:
    seen = _without("a+D1 b+D2", lambda item: getattr(item, "purpose", "") == purpose)
    found = compare(seen, audit_logs.events("a+D1 b+D2 c+D3"))
    assert (found.difference_count, found.holds, found.writes) == (0, 0, 2)


@pytest.mark.parametrize(
    ("text", "holds", "said"),
    [
        (
            "a+D1 a-D1",
            [(1, None)],
            "held from 1 to the end, the audit log has it held from 1 until 2",
        ),
        (
            "a+D1 . a-D1 .",
            [(1, 4)],
            "held from 1 until 4, the audit log has it held from 1 until 3",
        ),
        ("a+D1 . a-D1", [(2, 3)], "held from 2 until 3, the audit log has it held from 1 until 3"),
        ("a+D1 a-D1 a+D1 . a-D1", [(1, 2), (3, 4)], "from 3 until 4, the audit log has it held"),
    ],
)
def test_a_fold_of_the_watch_that_is_wrong_is_noticed(
    text: str, holds: list[tuple[int, int | None]], said: str
) -> None:
    device = language.device_id("D1")
    given = [("uid-a", device, *span) for span in holds]
    found = compare(language.observe(text), audit_logs.events(text), holds=given)
    assert found.writes == found.confirmed
    assert said in texts(found)


def test_what_changes_nothing_is_answered_twice_and_contradictions_are_named() -> None:
    told, seen = audit_logs.events(LIVES), language.observe(LIVES)
    assert not compare(seen, [*told, *told]).difference_count
    answer = told[3]["responseObject"]
    metadata = answer["metadata"] | {"uid": "another"}
    for change in (
        {"responseObject": answer | {"status": {}}},
        {"responseObject": answer | {"metadata": metadata}},
        {"verb": "delete"},
    ):
        found = compare(seen, [*told, told[3] | change])
        assert "has two writes of this revision" in texts(found), change


def test_writes_that_a_killed_server_logged_and_never_committed_are_forgotten() -> None:
    told, seen = audit_logs.events(LIVES), language.observe(LIVES)
    lost = audit_logs.events("a+D1 a^p p* x+D9 q*")[3:]
    later = audit_logs.events(".5 q* y+D8")
    again: Any = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete"}
    first, second = (again | {"annotations": {audit_events.RESTORED: text}} for text in "35")
    twice = [*told[:3], *lost, first, *told[3:5], *later, second, *told[5:]]
    assert not compare(seen, twice).difference_count
    assert compare(seen, [*told[:3], *lost, *told[3:]]).difference_count


def test_an_unknown_version_of_the_api_is_compared_by_its_devices() -> None:
    told, seen = audit_logs.events("a+D1 a-D1"), language.observe("a+D1 a-D1")
    for event in told:
        event["responseObject"] |= {"apiVersion": "resource.k8s.io/v1alpha2", "spec": {"x": 1}}
    assert not compare(seen, told).difference_count
    told[0]["responseObject"]["status"] = {}
    assert "with another status" in texts(compare(seen, told))


def test_only_two_different_states_dispute_an_observation() -> None:
    told = audit_logs.events(LIVES)
    assert compare(language.observe(LIVES.replace("b+D2", "b+D3")), told).is_disputed
    final = [
        language.edited(item, lambda value: value.get("status", {}).pop("allocation", None))
        if getattr(item, "type", "") == "FINAL"
        else item
        for item in language.observe(LIVES)
    ]
    assert compare(final, told).is_disputed
    lost = compare(language.observe(LIVES), told[1:])
    assert lost.difference_count
    assert not lost.is_disputed


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ("a+D1 b+D1", verdicts.Verdict.INVALID),
        ("a+D1 b+D2", verdicts.Verdict.UNKNOWN),
        ("a+D1", verdicts.Verdict.INVALID),
    ],
    ids=["the same", "another device", "a write is missing"],
)
def test_a_violation_stands_unless_the_log_has_another_state(
    tmp_path: pathlib.Path, told: str, verdict: verdicts.Verdict
) -> None:
    run = building.build(tmp_path / "run", "a+D1 b+D1", audited=True)
    log(run).write_bytes(audit_logs.lines(told))
    assert judging.judge(run).verdict is verdict


def test_a_deletion_that_is_an_update_in_the_log_is_named() -> None:
    told = audit_logs.events("a+D1 a~")
    told[1] |= {"verb": "update"}
    found = texts(compare(language.observe("a+D1 a~"), told))
    assert "at revision 2: the watch saw it with gpu.example/pool/D1 (DELETED)" in found

"""Writes whose answers have no revision: bindings, last finalizers, collections, evictions.

The life of one object is a line of words, as the watch saw it and as the audit log has it:

    A1 M2@n1 D3       versions that were added, modified, deleted; `L2`: in the first list
    . ?               the final list lacks it, there is none
    [2 ]4 L4@n1       a gap after a version, and the list that ends it
    create:1          a request, and the version in its answer; `S`: a Status, `0`: nothing
    patch/status:3    … for a subresource
    pods.delete:S     … of another resource
    bind@n1 evict     a binding to a node (`#-`: without a uid), an eviction
    collect:1         a collection with this version is deleted
    create:1*504?1    … with another status (or `panic`, `metadata`), and what was sent
    generate:1        a creation with a generated name

A version is on a node `@n1`, in a phase `:Running`, holds a device `=D1`, has a finalizer `+f`, is
marked `!` with a grace period `!30`, has another uid `#y`, is evicted `%`; `-`: without revision.
"""

import datetime
import re
from typing import Any

import msgspec
import pytest

from harness.checks.witness import (
    audit_comparison,
    audit_events,
    audit_history,
    hidden_writes,
)
from harness.history import records
from tests.histories import audit_logs, language
from tests.support import text_tables

RESOURCES = {"pods": language.PODS, "claims": language.CLAIMS}
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
KINDS = {"A": "ADDED", "M": "MODIFIED", "D": "DELETED", "L": "LISTED"}
WORDS = {
    "LIFE": "A1 M2@n1 M3@n1:Running",
    "LOG": "create:1 patch/status:3@n1:Running",
    "CLAIM": "A1+f M2+f! D3!",
    "ENDED": "create:1+f delete:2+f! update:2!",
    "MARKED": "A1 M2@n1 M3@n1:Running M4@n1:Running!30",
    "DELETION": "create:1 patch/status:3@n1:Running bind@n1 delete:4@n1:Running!30",
}
Object = dict[str, Any]
_REQUEST = re.compile(
    r"(?:(?P<resource>\w+)\.)?(?P<verb>[a-z]+)(?:/(?P<sub>\w+))?(?::(?P<answer>[^*?]+)|@(?P<node>\w+))?"
    r"(?P<no_uid>#-)?(?:\*(?P<how>\w+))?(?:\?(?P<sent>\S+))?"
)


def expanded(text: str) -> list[str]:
    return " ".join(WORDS.get(word, word) for word in text.split()).split()


def state(text: str) -> Object:
    """A version of the object."""
    meta: Object = {"namespace": language.NAMESPACE, "name": "x", "uid": "uid-x"}
    spec: Object = {}
    status: Object = {}
    version = re.match(r"\d*", text)
    if version and version[0]:
        meta["resourceVersion"] = version[0]
    for sign, value in re.findall(r"([@:=#+!%])(\w*)", text):
        match sign:
            case "@":
                spec["nodeName"] = value
            case ":":
                status["phase"] = value
            case "=":
                result = {"request": "r", "driver": "d", "pool": "p", "device": value}
                status["allocation"] = {"devices": {"results": [result]}}
            case "#":
                meta["uid"] = f"uid-{value}"
            case "+":
                meta["finalizers"] = ["resource.kubernetes.io/delete-protection"]
            case "%":
                status["conditions"] = [{"type": "DisruptionTarget", "status": "True"}]
            case _:
                meta["deletionTimestamp"] = "2026-11-22T15:00:00Z"
                if value:
                    meta["deletionGracePeriodSeconds"] = int(value)
    return {"metadata": meta, "spec": spec, "status": status}


def watch(resource: str, text: str) -> list[records.Body]:
    def observed(kind: str, value: Object) -> records.Observation:
        version = int(value["metadata"]["resourceVersion"])
        return language.observation(resource, version, value, kind, ts_ns=0)

    words = expanded(text)
    since = int(state(words[0][1:])["metadata"]["resourceVersion"]) if words[0][0] == "L" else 0
    body: list[records.Body] = []
    alive = None
    for word in words:
        match word[0], word[1:]:
            case (("." | "?"), _):
                alive = None
            case "[", version:
                body.append(language.gap(resource, int(version)))
            case "]", version:
                body.append(language.listed(resource, "relist", int(version), 0, 0))
            case kind, version:
                alive = None if kind == "D" else state(version)
                body.append(observed(KINDS[kind], state(version)))
    first = language.listed(resource, "first", since, 0, 0)
    final = [language.listed(resource, "final", 90, 0, 0)]
    final += [observed("FINAL", alive)] if alive else []
    return [first, *body, *(final if words[-1] != "?" else [])]


def event(resource: str, word: str) -> Object:
    """The audit event of a request."""
    found = _REQUEST.fullmatch(word)
    assert found is not None, word
    verb, answer, changes = found["verb"], found["answer"], _how(found["how"])
    if found["sent"]:
        changes["requestObject"] = _sent(found["sent"])
    told: Any = {"S": STATUS, "0": {}}.get(answer) if answer in ("S", "0") else state(answer or "")
    changes |= {"subresource": found["sub"]} if found["sub"] else {}
    named = {} if verb in ("generate", "collect") else {"name": "x"}
    match verb:
        case "generate":
            verb = "create"
        case "bind":
            meta = {"name": "x"} | ({} if found["no_uid"] else {"uid": "uid-x"})
            target = {"kind": "Node", "name": found["node"]}
            sent = {"metadata": meta, "target": target}
            verb, told = "create", STATUS
            changes = {"code": 201, "requestObject": sent, "subresource": "binding"} | changes
        case "evict":
            verb, told, changes = "create", STATUS, {"subresource": "eviction", "code": 201}
        case "collect":
            verb, told = "deletecollection", {"kind": "PodList", "items": [told]}
    told = changes.pop("responseObject", told)
    made = audit_logs.event(found["resource"] or resource, verb, told, **changes)
    made["objectRef"] |= {"namespace": language.NAMESPACE, **named}
    return made


def _how(text: str | None) -> Object:
    if text == "panic":
        return {"stage": "Panic"}
    if text == "metadata":
        return {"responseObject": None, "level": "Metadata"}
    return {"code": int(text)} if text else {}


def _sent(text: str) -> Any:
    match text[0]:
        case "s":
            return {"status": state(text[1:])["status"]}
        case "0":
            return {}
        case "r":
            return {"status": {"reservedFor": []}}
        case "l":
            return [{"op": "add"}]
        case "p":
            return {"preconditions": {"uid": "uid-y"}}
        case _:
            return state(text)


def compare(resource: str, life: str, log: str, holds: Any = None) -> audit_comparison.Comparison:
    told = [event(resource, word) for word in expanded(log)]
    found = audit_logs.compared(watch(resource, life), told, holds=holds)
    assert found.difference_count == len(found.differences)
    return found


CASES = [
    pytest.param(RESOURCES[part], life, log, " ".join(differences), id=f"{part}: {title}")
    for part, (title, life, log, *differences) in text_tables.rows(__file__, "hidden_writes.txt")
]


@pytest.mark.parametrize(("resource", "life", "log", "expected"), CASES)
def test_a_write_is_explained_or_named(resource: str, life: str, log: str, expected: str) -> None:
    found = [item.text for item in compare(resource, life, log).differences]
    fragments = expected.split(" ; ") if expected else []
    assert len(found) == len(fragments), found
    assert all(part in text for part, text in zip(fragments, found, strict=True)), found


def test_only_a_binding_has_a_binder() -> None:
    for log, binders in (("create:1 evict", []), ("bind@n1", [(language.NAMESPACE, "x")])):
        events = [event(language.PODS, word) for word in expanded(log)]
        folded = audit_history.fold(
            (audit_events.decode(audit_logs.line(item)) for item in events),
            namespace=language.NAMESPACE,
        )
        assert [*folded.binders] == binders


def test_a_version_that_a_list_after_a_gap_shows_again_is_what_the_watch_saw_first() -> None:
    body, pods = watch(language.PODS, "LIFE"), language.PODS
    log = [event(pods, word) for word in expanded("LOG bind@n1")]
    again = [
        language.gap(pods, 2),
        language.listed(pods, "relist", 2, 1, 0),
        language.observation(pods, 2, state("2@n1"), "LISTED", ts_ns=0),
    ]
    found = audit_logs.compared([*body[:3], *again, *body[3:]], log)
    assert not found.differences
    assert found.writes == 3


@pytest.mark.parametrize(
    ("until", "agrees"), [(None, True), (4, True), (3, True), (2, False), (1, False)]
)
def test_a_hold_ends_after_the_last_write_that_shows_it(until: int | None, agrees: bool) -> None:
    life, log = "A1+f=D1 M2+f!=D1 D3!=D1", "create:1+f=D1 delete:2+f!=D1 update:2!=D1"
    found = compare(language.CLAIMS, life, log, [("uid-x", "d/p/D1", 1, until)])
    assert agrees == (not found.difference_count), found.differences


TEXT = "a+D1 b+D2 c+D3 d+D4 e+D5 f+D6"
KILL_S = 3.5
"""Between the third and the fourth commit, which come once in a second."""


def seen(late_s: float = 0, text: str = TEXT) -> list[records.Body]:
    """The observations, each at its revision in seconds, on another clock than the log's; all but
    the first are late.
    """
    return [
        msgspec.structs.replace(
            item,
            ts_ns=_second(item.resource_version + (late_s if item.resource_version > 1 else 0)),
        )
        if isinstance(item, records.Observation)
        else item
        for item in language.observe(text)
    ]


def told(but: int, text: str = TEXT) -> list[dict[str, Any]]:
    """The log without the write of one revision."""
    found = audit_logs.events(text)
    for event in found:
        second = int(event["responseObject"]["metadata"]["resourceVersion"])
        event["requestReceivedTimestamp"] = _time(second - 0.01)
        event["stageTimestamp"] = _time(second)
    return [
        event
        for event in found
        if event["responseObject"]["metadata"]["resourceVersion"] != str(but)
    ]


def _second(number: float) -> int:
    return int((number + 1000) * 1e9)


def _time(second: float) -> str:
    time = datetime.datetime(2026, 11, 26, 7, tzinfo=datetime.UTC)
    text = (time + datetime.timedelta(seconds=second)).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def compare_killed(
    log: list[dict[str, Any]], *kills: float, took_s: float = 0, late_s: float = 0
) -> audit_comparison.Comparison:
    ends = [(_second(item), _second(item + took_s)) for item in kills]
    return audit_logs.compared(seen(late_s), log, ends=ends)


@pytest.mark.parametrize(
    ("lost", "kill_s", "took_s", "late_s"),
    [
        (3, KILL_S, 0, 0),
        (3, 3.95, 0, 0),
        (4, 4.5, 0, 0),
        # A recorder that is late makes the log's times seem later than they are.
        (4, 3.0, 0, 0.05),
        (3, 5.2, 0, 1.5),
        # Nothing was answered well before the kill.
        (2, 1.5, 0, 0),
        # Of what is written while the server is being ended, some is logged, and some is not.
        *((lost, KILL_S, 1.9, 0) for lost in (3, 4, 5)),
    ],
)
def test_a_write_is_lost_in_the_second_before_a_kill_and_until_the_end(
    lost: int, kill_s: float, took_s: float, late_s: float
) -> None:
    found = compare_killed(told(lost), kill_s, took_s=took_s, late_s=late_s)
    assert (found.difference_count, found.lost) == (0, 1)


@pytest.mark.parametrize("lost", [1, 2, 5, 6])
def test_a_write_elsewhere_must_be_in_the_log(lost: int) -> None:
    found = compare_killed(told(lost), KILL_S)
    assert found.difference_count
    assert not found.lost


def test_without_a_kill_and_something_on_both_sides_of_it_nothing_is_lost() -> None:
    assert not compare_killed(told(4), 0.5, 4.5).difference_count
    assert compare_killed(told(3)).difference_count
    assert compare_killed(told(3), 4.05).difference_count, "more than a second before it"
    assert compare_killed(told(6), 5.5).difference_count
    assert compare_killed(told(2), KILL_S, took_s=1.9).difference_count


def test_an_answer_that_wrote_nothing_does_not_end_the_writes_of_a_killed_server() -> None:
    """The new server answers an update of c, whose creation is lost, with the revision it had."""
    log = told(4)
    log[2] |= {"verb": "update", "requestReceivedTimestamp": _time(5.5)}
    log[2]["stageTimestamp"] = _time(5.6)
    found = compare_killed(log, KILL_S, took_s=1.9)
    assert (found.difference_count, found.lost) == (0, 1)


@pytest.mark.parametrize(
    ("text", "lost"),
    [("a+D1 b+D2 c+D3 c=D4 c=D5 c=D6", 5), ("a+D1 b+D2 c+D3 a~ e+D5 f+D6", 4)],
    ids=["the second answer of an object ends the window", "a deletion"],
)
def test_a_lost_write_is_adopted_in_whatever_order_the_log_is(text: str, lost: int) -> None:
    ends = [(_second(KILL_S), _second(KILL_S))]
    found = audit_logs.compared(seen(text=text), told(lost, text)[::-1], ends=ends)
    assert (found.difference_count, found.lost) == (0, 1)


def test_a_write_that_is_logged_just_before_a_kill_may_come_after_a_lost_one() -> None:
    log = told(3)
    log[2] |= {"requestReceivedTimestamp": _time(3.1), "stageTimestamp": _time(3.2)}
    found = compare_killed(log, KILL_S)
    assert (found.difference_count, found.lost) == (0, 1)


def test_a_pod_is_bound_whose_creation_a_kill_lost() -> None:
    words = ["create:1#y", "bind@n1", "patch:5@n1:Running", "patch:6@n1"]
    log = [event(language.PODS, word) for word in words]
    for told, second in zip(log, (1, 4, 5, 6), strict=True):
        told |= {"requestReceivedTimestamp": _time(second), "stageTimestamp": _time(second)}
    body = [
        msgspec.structs.replace(item, ts_ns=_second(item.resource_version))
        if isinstance(item, records.Observation)
        else item
        for item in watch(language.PODS, "A1#y A3 M4@n1 M5@n1:Running M6@n1")
    ]
    found = audit_logs.compared(body, log, ends=[(_second(KILL_S), _second(KILL_S))])
    assert (found.differences, found.lost) == ([], 1)


def test_a_write_before_others_that_were_logged_is_not_lost_by_the_kill() -> None:
    """The recorder has seen it late, in the second before the kill, and another one later."""
    late_s = {2: 2.4, 6: 5}
    late = [
        msgspec.structs.replace(item, ts_ns=item.ts_ns + int(late_s[item.resource_version] * 1e9))
        if isinstance(item, records.Observation) and item.resource_version in late_s
        else item
        for item in seen()
    ]
    ends = [(_second(4.5), _second(4.5))]
    assert audit_logs.compared(late, told(2), ends=ends).difference_count


def test_a_time_of_the_log_is_in_nanoseconds() -> None:
    assert hidden_writes.time_of("1970-01-01T00:00:01.500000Z") == 1_500_000_000
    assert hidden_writes.time_of("") == 0


def test_a_write_in_a_window_that_the_log_has_otherwise_is_a_difference() -> None:
    log = told(0)
    log[2]["responseObject"]["status"] = {}
    found = compare_killed(log, KILL_S)
    assert found.difference_count
    assert not found.lost


def test_a_server_that_says_what_it_committed_loses_nothing() -> None:
    restored = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete"}
    restored["annotations"] = {audit_events.RESTORED: "3"}  # type: ignore[assignment]
    log = told(3)
    assert compare_killed([*log[:2], restored, *log[2:]], KILL_S).difference_count


def test_a_log_without_times_bounds_nothing() -> None:
    log = told(3)
    for event in log:
        del event["stageTimestamp"]
    assert compare_killed(log, KILL_S).difference_count

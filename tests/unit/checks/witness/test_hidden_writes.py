"""Writes whose answers have no revision: bindings, last finalizers, collections, evictions.

The life of one object is a line of words, as the watch saw it and as the audit log has it:

    A1 M2@n1 D3       versions that were added, modified, deleted; `L2`: in the first list
    .                 the final list lacks it
    create:1          a request, and the version in its answer; `S`: a Status, `0`: nothing
    patch/status:3    … for a subresource
    pods.delete:S     … of another resource
    bind@n1 evict     a binding to a node (`#-`: without a uid), an eviction
    collect:1         a collection with this version is deleted
    create:1*504?1    … with another status (or `panic`, `metadata`), and what was sent

A version is on a node `@n1`, in a phase `:Running`, holds a device `=D1`, has a finalizer `+f`, is
marked `!` with a grace period `!30`, has another uid `#y`, is evicted `%`; `-`: without revision.
"""

import re
from typing import Any

import pytest

from harness.checks.holds import hold_history
from harness.checks.witness import audit_comparison, audit_events, audit_history, witnessed_writes
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
    def listed(purpose: Any, version: int, count: int) -> records.Listed:
        return records.Listed(
            resource=resource, purpose=purpose, resource_version=version, count=count, ts_ns=0
        )

    def observed(kind: str, value: Object) -> records.Observation:
        version = int(value["metadata"]["resourceVersion"])
        return language.observation(resource, version, value, kind, ts_ns=0)

    words = expanded(text)
    life = [(KINDS[word[0]], state(word[1:])) for word in words if word != "."]
    first = [value for kind, value in life if kind == "LISTED"]
    since = int(first[0]["metadata"]["resourceVersion"]) if first else 0
    alive = [life[-1][1]] if life[-1][0] != "DELETED" and words[-1] != "." else []
    return [
        listed("first", since, len(first)),
        *(observed(*item) for item in life),
        listed("final", 90, len(alive)),
        *(observed("FINAL", value) for value in alive),
    ]


def event(resource: str, word: str) -> Object:
    """The audit event of a request."""
    found = _REQUEST.fullmatch(word)
    assert found is not None, word
    verb, answer, changes = found["verb"], found["answer"], _how(found["how"])
    if found["sent"]:
        changes["requestObject"] = _sent(found["sent"])
    told: Any = {"S": STATUS, "0": {}}.get(answer) if answer in ("S", "0") else state(answer or "")
    changes |= {"subresource": found["sub"]} if found["sub"] else {}
    match verb:
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
    made["objectRef"] |= {"namespace": language.NAMESPACE, "name": "x"}
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
    events = (audit_events.decode(audit_logs.line(item)) for item in told)
    audited = audit_history.fold(events, namespace=language.NAMESPACE)
    watched = witnessed_writes.WatchedWrites()
    folded = hold_history.fold(watch(resource, life), watched)
    seen = [(hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in folded.holds]
    found = audit_comparison.compare(audited, watched, seen if holds is None else holds)
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


@pytest.mark.parametrize(
    ("until", "agrees"), [(None, True), (4, True), (3, True), (2, False), (1, False)]
)
def test_a_hold_ends_after_the_last_write_that_shows_it(until: int | None, agrees: bool) -> None:
    life, log = "A1+f=D1 M2+f!=D1 D3!=D1", "create:1+f=D1 delete:2+f!=D1 update:2!=D1"
    found = compare(language.CLAIMS, life, log, [("uid-x", "d/p/D1", 1, until)])
    assert agrees == (not found.difference_count), found.differences

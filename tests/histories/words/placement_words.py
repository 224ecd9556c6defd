"""A line of words for a history of claims, slices, classes and nodes, as in tables of cases.

    claim n2/D1 D2@q …   claim c holds these devices; `claim:d`: claim d
          D1!  D1#1  D1#1=2Gi        … with admin access; as share 1; which consumes this memory
          asks r*2 q*all             … for these requests; without it, for a device named r
               r!  r=2Gi  r.house    … with admin access; for so much memory; of this class
               r?WORD                … with this selector
               r/x*2/y               … for the first alternative that can be had, r/x or r/y
          must WORD                  … under this constraint
          config a:q copied a:q@claim  … with configuration a for q, and with this copy of it
          on n1 n2                   … for these nodes; `in a b`, `outside a`: for these zones
          for p q                    … and is reserved for these pods
    pod c d on n1                    pod p names these claims, and is bound to this node
          made= made=c               … its template has given it no claim yet; this one
          extended=c                 … it has this claim for its extended resources
    slice D1 D2                      a slice of node n1
          pool=n2 name=t count=2 generation=2 all zone=a,b node=n2
    class SELECTOR                   the device class; `class:house`: another one
    node n1 zone=b
    WORD                             the event, or the events, that the test calls so
    ~…  [… ]                         it is deleted; it is in the first list
    .                                something else is committed

Events are parted by ` ; `. After `+` a device, or the result for it, has the fields of a word.
"""

import re
from collections.abc import Mapping
from typing import Any

from tests.histories import placements
from tests.histories.placements import Object

Vocabulary = Mapping[str, Any]
"""The words of one test: its events, devices, requests, selectors, constraints, fields."""

_RESULT = re.compile(
    r"((?P<pool>\w+)/)?(?P<name>\w+)(@(?P<request>[\w/]+))?(?P<admin>!)?"
    r"(#(?P<share>\w+))?(=(?P<memory>[-\w]+))?"
)
_REQUEST = re.compile(
    r"(?P<name>\w+)(\*(?P<count>\w+))?(?P<admin>!)?(\.(?P<of_class>\w+))?"
    r"(=(?P<memory>[-\w]+))?(\?(?P<selector>\w+))?"
)


def history(text: str, vocabulary: Vocabulary) -> list[placements.Event | None]:
    found: list[placements.Event | None] = []
    for item in text.split(" ; ") if text else []:
        made = vocabulary.get(item)
        if isinstance(made, list):
            found += made
        else:
            found.append(_event(item, vocabulary))
    return found


def _event(text: str, vocabulary: Vocabulary) -> placements.Event | None:
    if text == ".":
        return None
    if text.startswith("~"):
        return placements.gone(_object(text[1:], vocabulary))
    if text.startswith("["):
        return placements.listed(_object(text[1:-1], vocabulary))
    return _object(text, vocabulary)


def _object(text: str, vocabulary: Vocabulary) -> placements.Event:
    kind, *words = text.split()
    kind, _, name = kind.partition(":")
    match kind:
        case "claim":
            return _claim(name or "c", words, vocabulary)
        case "pod":
            return _pod(words)
        case "slice":
            return _slice(words, vocabulary)
        case "class":
            selectors = [vocabulary.get(word, word) for word in words]
            return placements.device_class(*selectors, name=name or placements.CLASS)
        case "node":
            return placements.node(words[0], **dict(word.split("=") for word in words[1:]))
        case _:
            made: placements.Event = vocabulary[text]
            return made


def _claim(name: str, words: list[str], vocabulary: Vocabulary) -> placements.Event:
    clauses: dict[str, list[str]] = {"holds": []}
    clause = "holds"
    for word in words:
        if word in ("asks", "must", "config", "copied", "on", "in", "outside", "for"):
            clauses[clause := word] = []
        else:
            clauses[clause].append(word)
    return placements.claim(
        name,
        *(_result(word, vocabulary) for word in clauses["holds"]),
        requests=[request(word, vocabulary) for word in clauses.get("asks", [])],
        constraints=[vocabulary[word] for word in clauses.get("must", [])],
        selector=_selector(clauses),
        users=clauses.get("for", []),
        config=[*map(_configuration, clauses.get("config", []))],
        copied=[*map(_configuration, clauses.get("copied", []))],
    )


def _configuration(text: str) -> Object:
    said, _, source = text.partition("@")
    name, *requests = said.split(":")
    return placements.opaque(name, *requests, source=f"From{source.title()}" if source else "")


def _pod(words: list[str]) -> placements.Event:
    fields: Object = {}
    named = []
    if "on" in words:
        *words, _, fields["bound_to"] = words
    for word in words:
        key, is_field, value = word.partition("=")
        match key:
            case "made" if is_field:
                fields["generated"] = {"made": value} if value else {}
            case "extended" if is_field:
                fields["extended"] = value
            case _:
                assert not is_field, f"{word!r} is no word for a pod"
                named.append(word)
    return placements.pod("p", *named, **fields)


def _selector(clauses: Mapping[str, list[str]]) -> Object | None:
    if "on" in clauses:
        return placements.on(*clauses["on"])
    if "in" in clauses:
        return placements.labelled("zone", *clauses["in"])
    if "outside" in clauses:
        return placements.labelled("zone", *clauses["outside"], operator="NotIn")
    return None


def _result(text: str, vocabulary: Vocabulary) -> Object:
    said, _, more = text.partition("+")
    match = _RESULT.fullmatch(said)
    assert match is not None, f"{text!r} is no result"
    fields: Object = dict(vocabulary[more]) if more else {}
    if match["admin"]:
        fields["adminAccess"] = True
    if match["share"]:
        fields["shareID"] = match["share"]
    if match["memory"]:
        fields["consumedCapacity"] = {"memory": match["memory"]}
    pool, request = match["pool"] or "n1", match["request"] or "r"
    return placements.result(match["name"], pool=pool, request=request, **fields)


def request(text: str, vocabulary: Vocabulary) -> Object:
    """A request as a claim has it: exactly one, or the first one of several alternatives."""
    if text in vocabulary:
        made: Object = vocabulary[text]
        return made
    name, *alternatives = text.split("/")
    if not alternatives:
        name, option = _option(text, vocabulary)
        return {"name": name, "exactly": option}
    options = [_option(word, vocabulary) for word in alternatives]
    return {"name": name, "firstAvailable": [{"name": key, **option} for key, option in options]}


def _option(text: str, vocabulary: Vocabulary) -> tuple[str, Object]:
    said, _, more = text.partition("+")
    match = _REQUEST.fullmatch(said)
    assert match is not None, f"{text!r} is no request"
    fields: Object = dict(vocabulary[more]) if more else {}
    if match["count"] == "all":
        fields["allocationMode"] = "All"
    elif match["count"]:
        fields["count"] = int(match["count"])
    if match["admin"]:
        fields["adminAccess"] = True
    if match["of_class"]:
        fields["deviceClassName"] = match["of_class"]
    if match["memory"]:
        fields["capacity"] = {"requests": {"memory": match["memory"]}}
    word = match["selector"]
    selectors = [vocabulary.get(word, word)] if word else []
    return match["name"], placements.option(*selectors, **fields)


def _slice(words: list[str], vocabulary: Vocabulary) -> placements.Event:
    fields: Object = {}
    found = []
    for word in words:
        key, is_field, value = word.partition("=")
        match key:
            case "pool" | "name" if is_field:
                fields[key] = value
            case "count" | "generation" if is_field:
                fields[key] = int(value)
            case "zone" if is_field:
                fields["nodeSelector"] = placements.labelled("zone", *value.split(","))
            case "node" if is_field:
                fields["nodeName"] = value
            case "all":
                fields["allNodes"] = True
            case _:
                found.append(_device(word, vocabulary))
    return placements.piece(*found, **fields)


def _device(text: str, vocabulary: Vocabulary) -> Object:
    if text in vocabulary:
        made: Object = vocabulary[text]
        return made
    name, _, more = text.partition("+")
    assert name.isidentifier(), f"{text!r} is no device"
    return placements.device(name, **(vocabulary[more] if more else {}))

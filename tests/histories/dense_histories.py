"""Histories of a cluster with dense revisions: each commit takes one, and each is observed.

The language's other commits (`.`) are events here.
"""

import random

import msgspec

from harness.history import plans, records
from tests.histories import building, language

EVENTS = "events"
RESOURCES = [language.CLAIMS, language.PODS, EVENTS]
CHANGES = {"resources": RESOURCES, "dense_revisions": True}
"""The fields of a plan of such a run."""


def plan() -> plans.Plan:
    return msgspec.structs.replace(building.plan(), resources=RESOURCES, dense_revisions=True)


def observe(text: str) -> list[records.Body]:
    """Return the records of a history whose text has no `.9` and the like."""
    body = language.observe(text)
    others = [_event(item.rv) for item in language.commits(text) if item.verb == "."]
    last = max((item.rv for item in language.commits(text)), default=0)
    at = next(i for i, item in enumerate(body) if _is_final(item))
    finals = [msgspec.structs.replace(item, type="FINAL") for item in others]
    first = language.listed(EVENTS, "first", 0)
    final = language.listed(EVENTS, "final", last, len(others))
    return [first, *_by_version([*body[:at], *others]), *body[at:], final, *finals]


def draw(stream: random.Random, length: int) -> str:
    """A history of a few claims and devices, in which anything may be held twice."""
    held: dict[str, set[str]] = {}
    words: list[str] = []
    gap_at = stream.randrange(4 * length)
    for number in range(length):
        words += ["["] * (number == gap_at) + ["]"] * (number == gap_at + 2)
        words.append(_word(stream, held))
    return " ".join([*words, *["]"] * (words.count("[") > words.count("]"))])


def is_doubled(text: str) -> bool:
    """Return whether two claims ever hold one device, said commit by commit."""
    held: dict[str, set[str]] = {}
    for item in language.commits(text):
        devices = {take.device for take in item.takes}
        mine = held.setdefault(item.name, set())
        match item.verb:
            case "+":
                mine |= devices
            case "-":
                mine -= devices
            case "~":
                del held[item.name]
            case _:
                pass
        every = [device for some in held.values() for device in some]
        if len(every) > len(set(every)):
            return True
    return False


def _word(stream: random.Random, held: dict[str, set[str]]) -> str:
    name = stream.choice("abc")
    mine = held.get(name)
    choice = stream.choice("+++--~^.p")
    if choice == ".":
        return "."
    if choice == "p":
        return f"{stream.choice('xyz')}*"
    if choice == "^" and mine is not None:
        return f"{name}^x"
    if choice == "-" and mine:
        device = stream.choice(sorted(mine))
        mine.discard(device)
        return f"{name}-{device}"
    if choice == "~" and mine is not None:
        del held[name]
        return f"{name}~"
    device = stream.choice(["D1", "D2", "D3"])
    held.setdefault(name, set()).add(device)
    return f"{name}+{device}"


def _is_final(item: records.Body) -> bool:
    return isinstance(item, records.Listed) and item.purpose == "final"


def _by_version(body: list[records.Body]) -> list[records.Body]:
    """Put the events at their places; the others keep their order."""
    others = [item for item in body if not _is_event(item)]
    for item in body:
        if _is_event(item):
            later = (i for i, one in enumerate(others) if _version(one) > _version(item))
            others.insert(next(later, len(others)), item)
    return others


def _is_event(item: records.Body) -> bool:
    return isinstance(item, records.Observation) and item.resource == EVENTS


def _version(item: records.Body) -> int:
    is_listed = isinstance(item, records.Observation) and item.type == "LISTED"
    return 0 if is_listed else getattr(item, "resource_version", 0)


def _event(rv: int) -> records.Observation:
    meta = {"name": f"event-{rv}", "uid": f"uid-event-{rv}", "resourceVersion": str(rv)}
    return language.observation(EVENTS, rv, {"metadata": meta}, "ADDED")

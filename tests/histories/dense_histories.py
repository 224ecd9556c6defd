"""Random histories, and what is true of them, said commit by commit.

A cluster with dense revisions observes each commit: the language's others (`.`) are events there.
"""

import collections
import itertools
import random

import msgspec

from harness.history import plans, records
from tests.histories import building, language

RESOURCES = [language.CLAIMS, language.PODS, language.EVENTS]
CHANGES = {"resources": RESOURCES, "dense_revisions": True}
"""The fields of a plan of such a run."""
Occupancy = dict[tuple[str, int], set[str]]
"""(device, resourceVersion) -> uids of the claims that held it exclusively right after that commit
"""


def plan() -> plans.Plan:
    return msgspec.structs.replace(building.plan(), resources=RESOURCES, dense_revisions=True)


def observe(text: str) -> list[records.Body]:
    """Return the records of a history whose text has no `.9` and the like."""
    return language.observe(text, resources=RESOURCES)


# ------------------------------------------------------------------------------ what is drawn


def draw(stream: random.Random, length: int, *, gaps: float = 0.02) -> str:
    """A history of a few claims and devices, in which anything may be held twice."""
    held: dict[str, set[str]] = {}
    words: list[str] = []
    is_blind = False
    for _ in range(length):
        if stream.random() < gaps:
            is_blind = not is_blind
            words.append("[" if is_blind else "]")
        words.append(_word(stream, held))
    return " ".join([*words, "]"] if is_blind else words)


def _word(stream: random.Random, held: dict[str, set[str]]) -> str:
    name, verb = stream.choice("abc"), stream.choice("+++=--~^.p")
    mine = held.get(name)
    if verb == ".":
        return "."
    if verb == "p":
        return f"{stream.choice('xyz')}*"
    if verb == "^" and mine is not None:
        return f"{name}^x"
    if verb == "-" and mine:
        device = stream.choice(sorted(mine))
        mine.discard(device)
        return f"{name}-{device}"
    if verb == "~" and mine is not None:
        del held[name]
        return f"{name}~"
    device, how = stream.choice(["D1", "D2", "D3"]), stream.choice(["", "", "", "", "!", "%"])
    if verb == "=":
        held[name] = set()
    held.setdefault(name, set()).add(device)
    return f"{name}{'=' if verb == '=' else '+'}{device}{how}"


# ------------------------------------------------------------------------------ what is true


def occupied(text: str) -> Occupancy:
    """Return the claims that have each device after each commit, without any intervals."""
    held: dict[str, dict[str, bool]] = {}
    lives: collections.Counter[str] = collections.Counter()
    found: Occupancy = collections.defaultdict(set)
    for commit in language.commits(text):
        _apply(commit, held, lives)
        for name, takes in held.items():
            uid = f"uid-{name}" if lives[name] == 0 else f"uid-{name}-{lives[name] + 1}"
            for device, is_exclusive in takes.items():
                if is_exclusive:
                    found[language.device_id(device), commit.rv].add(uid)
    return found


def _apply(
    commit: language.Commit, held: dict[str, dict[str, bool]], lives: collections.Counter[str]
) -> None:
    takes = {take.device: take.exclusive for take in commit.takes}
    match commit.verb:
        case "+":
            held.setdefault(commit.name, {}).update(takes)
        case "=":
            held[commit.name] = takes
        case "-":
            for device in takes:
                del held[commit.name][device]
        case "~":
            held.pop(commit.name, None)
            lives[commit.name] += 1
        case _:
            pass


def doubles(text: str) -> set[tuple[str, frozenset[str]]]:
    """The devices that two claims ever hold at once, with these claims."""
    return {
        (device, frozenset(pair))
        for (device, _), uids in occupied(text).items()
        for pair in itertools.combinations(uids, 2)
    }

"""Runs in which the API server's data were restored: revisions go back in a second history.

Claim a holds D1 in the first history, claim b in the second one. In neither do two claims hold it.
The words are versions of claims (`a:M100=D1`: claim a is modified at 100 and has D1; A is added, D
deleted, L listed), and gaps and lists of claims, or of pods (`pods.gap112`; `relist115x1`: of one).
"""

import re
from typing import Any

from harness.history import records
from tests.histories import language, shared_devices

Body = list[records.Body]
FIRST = "a:A90 a:M100=D1 a:M110 a:D112"
SECOND = "b:A102 b:M105=D1 b:M120 b:D121"
REWOUND = {
    "an older list": f"{FIRST} gap112 relist101 {SECOND}",
    "without a list": f"{FIRST} {SECOND}",
    "a list of pods": f"{FIRST} pods.gap112 pods.relist101 {SECOND}",
    "a list that has come further": f"{FIRST} gap112 relist115x1 b:L105=D1 b:M120 b:D121",
    "twice": f"{FIRST} gap112 relist95 c:A96 gap96 relist91 {SECOND}",
}
"""The evidence -> the observations between the first and the final lists."""
_KINDS: dict[str, Any] = {"A": "ADDED", "M": "MODIFIED", "D": "DELETED", "L": "LISTED"}
_WORD = re.compile(r"(?:(\w):([AMDL])|(pods\.)?(gap|relist))(\d+)(?:=(\w+))?(?:x(\d+))?")


def whole(text: str) -> Body:
    lists = {
        purpose: [language.listed(name, purpose, rv) for name in (language.CLAIMS, language.PODS)]
        for purpose, rv in (("first", 1), ("final", 130))
    }
    return [*lists["first"], *map(_record, text.split()), *lists["final"]]


def _record(word: str) -> records.Body:
    match = _WORD.fullmatch(word)
    assert match is not None, word
    name, kind, of_pods, what, rv, device, count = match.groups()
    resource = language.PODS if of_pods else language.CLAIMS
    if what == "gap":
        return language.gap(resource, int(rv))
    if what == "relist":
        return language.listed(resource, "relist", int(rv), int(count or 0))
    driver = {"driver": language.DRIVER, "pool": language.POOL}
    results = [{"request": "r", **driver, "device": device}] if device else []
    return shared_devices.allocated(int(rv), name, results, _KINDS[kind])

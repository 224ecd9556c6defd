"""Tiny random histories: the checks of reservations agree with judges that look at all versions.

The judges are written from the documents, on raw objects, without any code of the checks.
"""

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

from harness.checks import verdicts
from harness.history import records
from tests.histories import claim_judging, language
from tests.support import brute_force

WORDS = 14
BEGIN = ["p:a", "a+D1", "a^p#p", "p>n"]
"""A pod uses its claim."""
Object = dict[str, Any]
Version = tuple[int, str, Object, int]
"""resourceVersion, type of the event, the object, and the number of gaps before it."""


class Brute:
    """A history, taken apart."""

    def __init__(self, body: list[records.Body]) -> None:
        self.claims: dict[str, list[Version]] = {}
        self.pods: dict[str, list[Version]] = {}
        gaps = 0
        for record in body:
            gaps += isinstance(record, records.Gap)
            if isinstance(record, records.Observation) and record.type != "FINAL":
                table = self.claims if record.resource == "resourceclaims" else self.pods
                document = json.loads(bytes(record.object))
                version = record.resource_version, record.type, document, gaps
                table.setdefault(document["metadata"]["uid"], []).append(version)

    def claim_reservations(self) -> set[Any]:
        """Reservations for wrong pods by their beginnings, and versions without an allocation."""
        found: set[Any] = set()
        for uid, versions in self.claims.items():
            for before, item in itertools.pairwise([None, *versions]):
                if item is None or item[1] == "DELETED":
                    continue
                if _users(item) and not item[2]["status"].get("allocation"):
                    found.add((uid, item[0], "unallocated"))
                known = _users(before) if before is not None and before[3] == item[3] else {}
                for pod, name in _users(item).items():
                    if pod not in known and not self._may_use(item[2], pod, name):
                        found.add((uid, item[0], pod))
        return found

    def _may_use(self, claim: Object, uid: str, name: str) -> bool:
        if uid not in self.pods:
            return False
        pod = self.pods[uid][0][2]
        entries = pod.get("spec", {}).get("resourceClaims", [])
        named = any(item.get("resourceClaimName") == claim["metadata"]["name"] for item in entries)
        is_owner = any(it["uid"] == uid for it in claim["metadata"].get("ownerReferences", ()))
        return pod["metadata"]["name"] == name and (named or is_owner)

    def claims_in_use(self) -> set[Any]:
        """Claims, pods and versions in which a running pod lost its reservation."""
        found: set[Any] = set()
        for uid, versions in self.claims.items():
            for before, after in itertools.pairwise(versions):
                left = {} if after[1] == "DELETED" else _users(after)
                for pod in _users(before) if before[3] == after[3] else ():
                    if pod not in left and self._runs(pod, after[0]):
                        found.add((uid, pod, after[0]))
        return found

    def _runs(self, uid: str, at: int) -> bool:
        """Return whether the newest version of the pod before this one is bound and not over."""
        before = [item for item in self.pods.get(uid, ()) if item[0] < at]
        if not before:
            return False
        _, kind, pod, _ = before[-1]
        is_over = kind == "DELETED" or pod["status"]["phase"] == "Succeeded"
        return bool(pod.get("spec", {}).get("nodeName")) and not is_over


def _users(version: Version) -> dict[str, str]:
    return {item["uid"]: item["name"] for item in version[2]["status"].get("reservedFor", [])}


class Writer:
    """Writes a random history that the language accepts; half of them begin with BEGIN."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        is_used = self._random.random() < 0.5
        self._words = [*BEGIN] if is_used else []
        self._users: dict[str, set[str]] = {"a": {"p#p"}} if is_used else {}
        """Claim -> the pods that it is reserved for, as words name them."""
        self._pods = {"p": False} if is_used else {}
        """Pod -> whether it has ended."""

    def write(self) -> str:
        for _ in range(self._random.randrange(3, WORDS)):
            chance = self._random.random()
            is_blind = self._words.count("[") > self._words.count("]")
            gap = "]" if is_blind else "["
            word = gap if chance < 0.06 else self._of_pod() if chance < 0.4 else self._of_claim()
            self._words.append(word)
        return " ".join(self._words)

    def _of_pod(self) -> str:
        pod = self._random.choice("pq")
        if pod not in self._pods:
            self._pods[pod] = False
            return pod + self._random.choice([":a", ":b", ":a,b", ":?", ":?x,b", ">n", "*"])
        word = self._random.choice([">n", ">n", "*", "$", "~"])
        if word == "~":
            del self._pods[pod]
        elif word != ">n" and (word == "$" or self._pods[pod]):
            self._pods[pod], word = True, "$"  # a pod that has ended never runs again
        return pod + word

    def _of_claim(self) -> str:
        claim, pod = self._random.choice("ab"), self._random.choice("pq")
        if claim not in self._users:
            self._users[claim] = set()
            return claim + self._random.choice([f"<{pod}", "=", "+D1", "+D1"])
        users = self._users[claim]
        word = self._random.choice(["+D1", "+D1", "=D2", "=", "^", "^", "^", "/", "/", "!", "~"])
        if word == "~":
            del self._users[claim]
        elif word == "^":
            user = f"{pod}#{pod}" + self._random.choice(["", "", "", "-2", "9"])
            users.add(user)
            word += user
        elif word == "/":
            user = self._random.choice(sorted(users)) if users else ""
            users.discard(user)
            word = f"/{user}" if user else "=D3"
        return claim + word


def _found(answer: verdicts.Answer) -> set[Any]:
    if isinstance(answer, verdicts.NotExamined):
        return set()
    assert len(answer.violations) == answer.violation_count
    return {_key(answer.check, item) for item in answer.violations}


def _key(check: str, item: verdicts.Violation) -> Any:
    uids = [involved.uid for involved in item.objects]
    if check == "claims_in_use":
        return uids[0], uids[1], item.resource_versions[-1]
    if "without an allocation" in item.summary:
        return uids[0], item.resource_versions[0], "unallocated"
    user = item.text.split("for pod ")[1].split("(uid ")[1].split(")")[0]
    return uids[0], item.resource_versions[0], user


def test_both_find_the_same() -> None:
    checks = ("claim_reservations", "claims_in_use")

    def compare(seed: int) -> Iterator[str]:
        text = Writer(seed).write()
        body = language.observe(text)
        brute, answers = Brute(body), claim_judging.answers(body)
        for check in checks:
            expected = getattr(brute, check)()
            assert _found(answers[check]) == expected, f"{text}: {check}"
            yield check if expected else f"no {check}"

    brute_force.agree(compare, *checks, *(f"no {check}" for check in checks))

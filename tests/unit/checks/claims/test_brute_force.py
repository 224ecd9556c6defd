"""Tiny random histories: the checks of the lives of claims agree with one that looks at all."""

import os
import random
from typing import Any

import pytest

from harness.checks import verdicts
from tests.histories import claim_judging, language
from tests.unit.checks.claims import brute_force

HISTORIES = int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000"))
"""Number of random histories."""
CLAIMS, PODS, WORDS = "ab", "pq", 14
CHECKS = (
    "allocation_stability",
    "allocation_finalizers",
    "claim_reservations",
    "claims_in_use",
    "generated_claims",
)


class Writer:
    """Writes a random history that the language accepts; what is common is likely."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words: list[str] = []
        self._claims: dict[str, set[str]] = {}
        """Claim -> the pods that it is reserved for, as words name them."""
        self._held: dict[str, bool] = {}
        self._pods: set[str] = set()
        self._ended: set[str] = set()
        self._is_blind = False

    def write(self) -> str:
        """Return the history; half of them begin with a pod that uses its claim."""
        if self._random.random() < 0.5:
            self._words = ["p:a", "a+D1", "a^p#p", "p>n"]
            self._pods, self._claims, self._held = {"p"}, {"a": {"p#p"}}, {"a": True}
        for _ in range(self._random.randrange(3, WORDS)):
            self._words.append(self._word())
        return " ".join(self._words)

    def _word(self) -> str:
        chance = self._random.random()
        if chance < 0.06:
            self._is_blind = not self._is_blind
            return "[" if self._is_blind else "]"
        return self._of_pod() if chance < 0.4 else self._of_claim()

    def _of_pod(self) -> str:
        pod = self._random.choice(PODS)
        if pod not in self._pods:
            self._pods.add(pod)
            return pod + self._random.choice([":a", ":b", ":a,b", ":?", ":?x,b", ">n", "*"])
        word = self._random.choice([">n", ">n", "*", "$", "?a", "?b", "?a:x", "~"])
        if word == "*" and pod in self._ended:
            word = "$"  # a pod that has ended never runs again
        if word == "$":
            self._ended.add(pod)
        if word == "~":
            self._pods.remove(pod)
            self._ended.discard(pod)
        return pod + word

    def _of_claim(self) -> str:
        claim = self._random.choice(CLAIMS)
        pod = self._random.choice(PODS)
        users = self._claims.setdefault(claim, set())
        if self._random.random() < 0.25 and claim not in self._held:
            self._held[claim] = False
            return f"{claim}<{pod}" + self._random.choice(["", "", ":x"])
        self._held[claim] = True
        known = sorted(users)
        word = self._random.choice(["+D1", "+D1", "=D2", "=", "|D1", "^", "^", "^", "/", "!", "~"])
        match word:
            case "^":
                user = f"{pod}#{pod}" + self._random.choice(["", "", "", "-2", "9"])
                users.add(user)
                return f"{claim}^{user}"
            case "/" if known:
                user = self._random.choice(known)
                users.remove(user)
                return f"{claim}/{user}"
            case "/":
                return f"{claim}=D3"
            case "~":
                del self._claims[claim], self._held[claim]
                return f"{claim}~" if claim in self._born() else f"{claim}= {claim}~"
            case _:
                return claim + word

    def _born(self) -> set[str]:
        born: set[str] = set()
        for word in " ".join(self._words).split():
            if word[0] in CLAIMS:
                (born.discard if word[1:] == "~" else born.add)(word[0])
        return born


def _found(answer: verdicts.Answer) -> set[Any]:
    if isinstance(answer, verdicts.NotExamined):
        return set()
    assert len(answer.violations) == answer.violation_count
    return {_key(answer.check, item) for item in answer.violations}


def _key(check: str, item: verdicts.Violation) -> Any:
    uids = [involved.uid for involved in item.objects]
    match check:
        case "allocation_stability":
            return uids[0], item.resource_versions[0]
        case "allocation_finalizers":
            return uids[0]
        case "claims_in_use":
            return uids[0], uids[1], item.resource_versions[-1]
        case "claim_reservations":
            if "without an allocation" in item.summary:
                return uids[0], item.resource_versions[0], "unallocated"
            user = item.text.split("for pod ")[1].split("(uid ")[1].split(")")[0]
            return uids[0], item.resource_versions[0], user
        case _:
            return uids[-1]


def _differences(seeds: range) -> tuple[list[str], dict[str, int]]:
    """Return the histories about which they differ, and how often each check found something."""
    differing, counts = [], dict.fromkeys(CHECKS, 0)
    for seed in seeds:
        text = Writer(seed).write()
        body = language.observe(text)
        brute, answers = brute_force.Brute(body), claim_judging.answers(body)
        for check in CHECKS:
            expected, found = getattr(brute, check)(), _found(answers[check])
            counts[check] += bool(expected)
            if expected != found:
                differing.append(f"{seed}: {text}: {check}: {found} instead of {expected}")
    return differing, counts


def test_both_find_the_same() -> None:
    differing, counts = _differences(range(HISTORIES))
    assert differing == []
    assert all(HISTORIES / 50 < count < HISTORIES * 0.95 for count in counts.values()), counts


@pytest.mark.parametrize("check", CHECKS)
def test_the_brute_force_finds_nothing_in_a_correct_history(check: str) -> None:
    text = "p:a,? b<p p?b a+D1 b+D2 a^p b^p p>n p* p$ a/p a= b/p b= b! b~ p~ a~"
    assert getattr(brute_force.Brute(language.observe(text)), check)() == set()

"""Tiny random histories: the checks of the lives of claims agree with one that looks at all.

The judge is written from the documents, on raw objects, without any code of the checks. All
versions of an object are a list, and every question goes through all of them.
"""

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

from harness.checks import verdicts
from harness.history import records
from tests.histories import claim_judging, language
from tests.support import brute_force

CLAIMS, PODS, WORDS = "ab", "pq", 14
FINALIZER = "resource.kubernetes.io/delete-protection"
ENTRY = "resource.kubernetes.io/pod-claim-name"
Object = dict[str, Any]
Version = tuple[int, str, Object, int]
"""resourceVersion, type of the event, the object, and the number of gaps before it."""


class Brute:
    """A history, taken apart."""

    def __init__(self, body: Iterable[records.Body]) -> None:
        self.claims: dict[str, list[Version]] = {}
        self.pods: dict[str, list[Version]] = {}
        self.gap_versions: list[int] = []
        for record in body:
            if isinstance(record, records.Gap):
                self.gap_versions.append(record.after_resource_version)
            elif isinstance(record, records.Observation) and record.type != "FINAL":
                table = self.claims if record.resource == "resourceclaims" else self.pods
                document = json.loads(bytes(record.object))
                version = record.resource_version, record.type, document, len(self.gap_versions)
                table.setdefault(document["metadata"]["uid"], []).append(version)

    def _pairs(self, versions: list[Version]) -> Iterator[tuple[Version, Version]]:
        """The versions that follow each other without a gap."""
        return ((a, b) for a, b in itertools.pairwise(versions) if a[3] == b[3])

    def allocation_stability(self) -> set[Any]:
        return {
            (uid, after[0])
            for uid, versions in self.claims.items()
            for before, after in self._pairs(versions)
            if after[1] != "DELETED" and _allocation(before) and _allocation(after)
            if _allocation(before) != _allocation(after)
        }

    def allocation_finalizers(self) -> set[Any]:
        """Claims that were allocated without the finalizer, or removed in spite of it."""
        return {
            uid
            for uid, versions in self.claims.items()
            for item in versions
            if _allocation(item)
            and (FINALIZER in item[2]["metadata"].get("finalizers", []))
            is (item[1] == "DELETED" and "deletionTimestamp" not in item[2]["metadata"])
        }

    def claim_reservations(self) -> set[Any]:
        """Reservations for wrong pods by their beginnings, and versions without an allocation."""
        found: set[Any] = set()
        for uid, versions in self.claims.items():
            for index, item in enumerate(versions):
                if item[1] == "DELETED":
                    continue
                if _users(item) and not _allocation(item):
                    found.add((uid, item[0], "unallocated"))
                known: dict[str, str] = {}
                if index and versions[index - 1][3] == item[3]:
                    known = _users(versions[index - 1])
                for pod, name in _users(item).items():
                    if pod not in known and not self._may_use(item[2], pod, name):
                        found.add((uid, item[0], pod))
        return found

    def _may_use(self, claim: Object, uid: str, name: str) -> bool:
        if uid not in self.pods:
            return False
        pod = self.pods[uid][0][2]
        if pod["metadata"]["name"] != name:
            return False
        entries = pod.get("spec", {}).get("resourceClaims", [])
        named = any(item.get("resourceClaimName") == claim["metadata"]["name"] for item in entries)
        return named or _owner(claim) == uid

    def claims_in_use(self) -> set[Any]:
        """Claims, pods and versions in which a running pod lost its reservation."""
        found: set[Any] = set()
        for uid, versions in self.claims.items():
            for before, after in self._pairs(versions):
                left = {} if after[1] == "DELETED" else _users(after)
                for pod in _users(before):
                    if pod not in left and self._runs(pod, after[0]):
                        found.add((uid, pod, after[0]))
        return found

    def _runs(self, uid: str, at: int) -> bool:
        """Return whether the newest version of the pod before this one is bound and not over."""
        before = [item for item in self.pods.get(uid, ()) if item[0] < at]
        if not before:
            return False
        _, kind, pod, _ = before[-1]
        is_over = kind == "DELETED" or pod["status"]["phase"] in ("Succeeded", "Failed")
        return bool(pod.get("spec", {}).get("nodeName")) and not is_over

    def generated_claims(self) -> set[Any]:
        """Claims that were created beside another one, and pods that were bound without one."""
        found: set[Any] = set()
        for uid, versions in self.claims.items():
            version, kind, claim, _ = versions[0]
            others = [other for other in self.claims if other != uid]
            if (
                kind == "ADDED"
                and _entry(claim)
                and any(
                    _entry(self.claims[other][0][2]) == _entry(claim)
                    and self._stays(other, version)
                    for other in others
                )
            ):
                found.add(uid)
        strange = self._without_entry() | self._named_by_strangers()
        return found | self._bound_without() | self._mixed_up() | strange

    def _stays(self, uid: str, at: int) -> bool:
        """Return whether the claim surely existed at this version, and was not being deleted."""
        before = [item for item in self.claims[uid] if item[0] < at]
        if not before:
            return False
        _, kind, claim, gaps = before[-1]
        after = [item for item in self.claims[uid] if item[0] >= at]
        passed = sum(gap < at for gap in self.gap_versions)
        # After a gap it is sure only if a list or a later event shows it again.
        is_sure = passed <= gaps or bool(after)
        return is_sure and kind != "DELETED" and "deletionTimestamp" not in claim["metadata"]

    def _mixed_up(self) -> set[Any]:
        """Claims that their pod names, in its last status with names, for another entry."""
        found: set[Any] = set()
        for uid, versions in self.claims.items():
            claim = versions[0][2]
            owner, entry = _entry(claim) or (None, None)
            statuses = [
                item[2]["status"]["resourceClaimStatuses"]
                for item in self.pods.get(owner or "", ())
                if item[2]["status"].get("resourceClaimStatuses")
            ]
            for item in statuses[-1] if statuses else ():
                is_meant = item.get("resourceClaimName") == claim["metadata"]["name"]
                if is_meant and item["name"] != entry:
                    found.add(uid)
        return found

    def _without_entry(self) -> set[Any]:
        found: set[Any] = set()
        for uid, versions in self.claims.items():
            owner, entry = _entry(versions[0][2]) or ("", "")
            is_new = versions[0][1] == "ADDED" and owner in self.pods
            if is_new and entry not in _templates(self.pods[owner][0][2]):
                found.add(uid)
        return found

    def _named_by_strangers(self) -> set[Any]:
        """Pods whose last status with names has the claim of another pod, or of none."""
        found: set[Any] = set()
        last = max((item[0] for items in self.claims.values() for item in items), default=0)
        for uid, versions in self.pods.items() if not self.gap_versions else ():
            named = [
                item
                for item in versions
                if item[1] != "DELETED" and item[2]["status"].get("resourceClaimStatuses")
            ]
            if not named or named[-1][0] >= last:
                continue
            own = {
                items[0][2]["metadata"]["name"]
                for items in self.claims.values()
                for entry in _templates(versions[0][2])
                if _entry(items[0][2]) == (uid, entry)
            }
            for item in named[-1][2]["status"]["resourceClaimStatuses"]:
                if item.get("resourceClaimName", "") not in {"", *own}:
                    found.add(uid)
        return found

    def _bound_without(self) -> set[Any]:
        found: set[Any] = set()
        for uid, versions in self.pods.items():
            bound = [item[2] for item in versions if item[2].get("spec", {}).get("nodeName")]
            if not bound or "nodeName" in versions[0][2].get("spec", {}):
                continue
            statuses = bound[0]["status"].get("resourceClaimStatuses", [])
            named = {item["name"] for item in statuses}
            entries = bound[0]["spec"].get("resourceClaims", [])
            wanted = {item["name"] for item in entries if "resourceClaimTemplateName" in item}
            if wanted - named:
                found.add(uid)
        return found


def _allocation(version: Version) -> Any:
    return version[2]["status"].get("allocation")


def _users(version: Version) -> dict[str, str]:
    return {item["uid"]: item["name"] for item in version[2]["status"].get("reservedFor", [])}


def _owner(claim: Object) -> str | None:
    owners = claim["metadata"].get("ownerReferences", [])
    return str(owners[0]["uid"]) if owners else None


def _entry(claim: Object) -> tuple[str, str] | None:
    owner, entry = _owner(claim), claim["metadata"].get("annotations", {}).get(ENTRY)
    return (owner, entry) if owner and entry else None


def _templates(pod: Object) -> set[str]:
    entries = pod.get("spec", {}).get("resourceClaims", [])
    return {item["name"] for item in entries if "resourceClaimTemplateName" in item}


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


def test_both_find_the_same() -> None:
    def compare(seed: int) -> Iterator[str]:
        text = Writer(seed).write()
        body = language.observe(text)
        brute, answers = Brute(body), claim_judging.answers(body)
        for check in claim_judging.NAMES:
            expected = getattr(brute, check)()
            assert _found(answers[check]) == expected, f"{text}: {check}"
            yield check if expected else f"no {check}"

    kinds = [kind for name in claim_judging.NAMES for kind in (name, f"no {name}")]
    brute_force.agree(compare, *kinds)

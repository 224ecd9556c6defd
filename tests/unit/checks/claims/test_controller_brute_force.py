"""The writes of the claim controller against a judge that compares all versions one by one."""

import itertools
import random
from collections.abc import Iterator

from harness.checks import verdicts
from harness.history import records
from tests.support import brute_force
from tests.unit.checks.claims import controller_events

POD = controller_events.POD
claim = controller_events.claim
judge = controller_events.judge
pod = controller_events.pod

ENTRIES = ("one", "two")
Version = tuple[int, str, tuple[str, ...]]
"""resourceVersion, what the version is, and what it says: entries, or uids of pods."""


class _Drawn:
    """A small random history of one pod and its claims."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.body: list[records.Observation] = []
        self.pods: list[Version] = []
        self.claims: dict[tuple[str, str], list[Version]] = {}
        """Entry and uid -> the versions; none follows a deletion."""
        self._ended = False
        for version in range(1, self._random.randint(3, 16)):
            (self._pod if self._random.random() < 0.3 else self._claim)(version)

    def _pod(self, version: int) -> None:
        recorded = {entry: "a" for entry in ENTRIES if self._random.random() < 0.85}
        self._ended |= self._random.random() < 0.5
        phase = "Succeeded" if self._ended else "Running"
        self.body.append(pod(version, phase=phase, **recorded))
        self.pods.append((version, phase, tuple(recorded)))

    def _claim(self, version: int) -> None:
        entry, name = self._random.choice(ENTRIES), self._random.choice("ab")
        users = [POD] if self._random.random() < 0.6 else []
        kind = "DELETED" if self._random.random() < 0.2 else "MODIFIED"
        while (seen := self.claims.get((entry, name))) and seen[-1][1] == "DELETED":
            name += "+"
        self.body.append(claim(version, f"{entry}-{name}", entry=entry, reserved=users, kind=kind))
        self.claims.setdefault((entry, name), []).append((version, kind, tuple(users)))

    def ended(self) -> int | None:
        """The first version in which the pod had ended."""
        return next((version for version, phase, _ in self.pods if phase == "Succeeded"), None)

    def has_dropped(self) -> bool:
        return any(set(one[2]) - set(two[2]) for one, two in itertools.pairwise(self.pods))

    def late_claims(self) -> int:
        """The entries that got more than one claim after the end of the pod."""
        ended = self.ended()
        late = dict.fromkeys(ENTRIES, 0)
        for (entry, _), versions in self.claims.items():
            for before, now in itertools.pairwise([(0, "DELETED", ()), *versions]):
                is_birth = before[1] == "DELETED" and now[1] != "DELETED"
                late[entry] += is_birth and ended is not None and now[0] > ended
        return sum(count > 1 for count in late.values())

    def late_reservations(self) -> int:
        """The claims that were reserved for the pod more than once after its end."""
        ended, count = self.ended(), 0
        for versions in self.claims.values():
            late = 0
            for before, now in itertools.pairwise([(0, "DELETED", ()), *versions]):
                had = before[2] if before[1] != "DELETED" else ()
                is_new = now[1] != "DELETED" and set(now[2]) - set(had)
                late += bool(is_new) and ended is not None and now[0] > ended
            count += late > 1
        return count


def test_both_find_the_same() -> None:
    def compare(seed: int) -> Iterator[object]:
        drawn = _Drawn(seed)
        expected = [drawn.has_dropped(), drawn.late_claims(), drawn.late_reservations()]
        result = judge(drawn.body)
        assert result.violation_count == sum(expected)
        assert result.examined_count == bool(drawn.pods)
        assert (result.verdict is verdicts.Verdict.INVALID) is (sum(expected) > 0)
        yield result.verdict
        yield from (
            kind for kind, item in zip(("drop", "claim", "use"), expected, strict=True) if item
        )

    brute_force.agree(compare, *verdicts.Verdict, "drop", "claim", "use")

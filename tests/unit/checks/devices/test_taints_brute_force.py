"""Tainted devices against a judge that looks at each version that the scheduler may have seen."""

import random
from collections.abc import Iterator
from typing import Any

from harness.checks import verdicts
from harness.history import records
from tests.support import brute_force
from tests.unit.checks.devices import taint_events

DRIVER, POOL = taint_events.DRIVER, taint_events.POOL
claim, device, judge = taint_events.claim, taint_events.device, taint_events.judge
piece, rule, view = taint_events.piece, taint_events.rule, taint_events.view

Object = dict[str, Any]
SELECTORS: list[Object | None] = [None, {}, {"device": "d"}, {"device": "e"}, {"driver": "other"}]
SELECTORS += [{"driver": DRIVER, "pool": POOL}, {"pool": "other"}]
BLOCKING = ("NoSchedule", "NoExecute")
LAST = 12
"""The version of the allocation."""


class _Drawn:
    """Slices and a rule in their versions, and what the scheduler had dealt with."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.slices: dict[str, list[tuple[int, list[Object]]]] = {"s": [], "t": []}
        self.rules: list[tuple[int, Object | None, str]] = []
        self.body: list[records.Body] = []
        for version in self._versions():
            self._rule(version) if self._random.random() < 0.35 else self._slice(version)
        self.seen = self._random.randint(0, LAST - 1), self._random.randint(0, LAST - 1)

    def _versions(self) -> Iterator[int]:
        return (version for version in range(1, LAST) if self._random.random() < 0.5)

    def _slice(self, version: int) -> None:
        uid = self._random.choice("sst")
        effects = [*BLOCKING, "None"]
        devices = [
            device(name, *self._random.sample(effects, self._random.choice([0, 1, 1, 2])))
            for name in "de"
            if self._random.random() < 0.8
        ]
        is_gone = bool(self.slices[uid]) and self._random.random() < 0.2
        self.slices[uid].append((version, [] if is_gone else devices))
        self.body.append(piece(version, *devices, uid=uid, gone=is_gone))

    def _rule(self, version: int) -> None:
        selector, effect = self._random.choice(SELECTORS), self._random.choice([*BLOCKING, "None"])
        is_gone = bool(self.rules) and self._random.random() < 0.3
        self.rules.append((version, None if is_gone else selector, effect))
        self.body.append(rule(version, selector, effect, gone=is_gone))

    def is_clear_in_slices(self, at: int) -> bool:
        """Return whether a slice lists the device without such a taint."""
        for versions in self.slices.values():
            before = [devices for version, devices in versions if version <= at]
            for item in before[-1] if before else ():
                taints = {taint["effect"] for taint in item.get("taints", ())}
                if item["name"] == "d" and not taints & set(BLOCKING):
                    return True
        return False

    def is_clear_of_rules(self, at: int) -> bool:
        before = [item for item in self.rules if item[0] <= at]
        if not before or before[-1][1] is None or before[-1][2] not in BLOCKING:
            return True
        wanted = {"driver": DRIVER, "pool": POOL, "device": "d"}
        return any(wanted[key] != value for key, value in before[-1][1].items())

    def may_be_clear(self) -> bool:
        return any(map(self.is_clear_in_slices, range(self.seen[0], LAST))) and any(
            map(self.is_clear_of_rules, range(self.seen[1], LAST))
        )


def test_both_find_the_same() -> None:
    def compare(seed: int) -> Iterator[verdicts.Verdict]:
        drawn = _Drawn(seed)
        is_tolerant = seed % 10 == 0
        tolerations = [{"operator": "Exists"}] if is_tolerant else []
        body = [claim(0, tolerations=tolerations), *drawn.body, claim(LAST, allocated="d")]
        result = judge(body, view(*drawn.seen))
        is_examined = bool(drawn.seen[0]) and not is_tolerant
        is_wrong = is_examined and not drawn.may_be_clear()
        assert (result.examined_count, result.violation_count) == (is_examined, is_wrong)
        expected = verdicts.Verdict.INVALID if is_wrong else verdicts.Verdict.VALID
        assert result.verdict is (expected if is_examined else verdicts.Verdict.UNKNOWN)
        yield result.verdict

    brute_force.agree(compare, *verdicts.Verdict, one_in=20)

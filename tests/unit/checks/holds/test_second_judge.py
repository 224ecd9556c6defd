"""The second judge folds holds by itself: it finds the same, and counts what the check counts."""

import collections
import json
import pathlib
import random
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest

from harness.checks import device_exclusivity
from harness.checks.devices import device_catalogue
from harness.checks.holds import hold_columns, hold_history
from harness.checks.observed import observations
from harness.history import directories, histories, records
from tests.histories import building, dense_histories, language, rewound
from tests.support import brute_force, second_judge

POOLS = [("gpu.example", "pool"), ("gpu.example", "node"), ("nic.example", "pool")]
"""They have devices of the same names."""
HOWS = (*[{}] * 4, {"adminAccess": True}, *[{"shareID": "s"}] * 4, {"shareID": ""})
"""How a claim has a device: mostly whole, or a share."""


def _check(body: Iterable[Any]) -> tuple[hold_history.HoldHistory, second_judge.Count]:
    declared = device_catalogue.DeviceCatalogue()
    folded = hold_history.fold(body, declared)
    found = device_exclusivity.check(folded, declared.is_shareable)
    return folded, second_judge.Count(found.examined_count, found.violation_count)


def _checked(run: directories.RunDirectory) -> second_judge.Count:
    return _check(histories.load(run.path).observations() or ())[1]


def test_random_histories_of_words(tmp_path: pathlib.Path) -> None:
    stream = random.Random(16)
    for number in range(20):
        text = dense_histories.draw(stream, 40)
        body = dense_histories.observe(text)
        run = building.build(tmp_path / str(number), "", observations=body)
        assert _checked(run) == second_judge.count(second_judge.read(run)), text


class _Cluster:
    """Commits of all kinds, some before and between what the recorder sees."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._rv, self._count = self._dice.choice([0, 2**61]), 0
        self._late = 9 * (seed % 2)  # versions before a gap of which the recorder is not sure
        self._live: dict[str, dict[str, Any]] = collections.defaultdict(dict)

    def record(self) -> list[records.Body]:
        """The records of a recorder, which may break off."""
        dice, before = self._dice, [self._commit() for _ in range(self._dice.randrange(9))]
        found: list[records.Body] = [it for it in before if it.resource == observations.SLICES]
        found += [*self._list(language.CLAIMS, "first"), *self._list(language.PODS, "first")]
        for _ in range(dice.randrange(30)):
            found += self._gap() if dice.random() < 0.15 else [self._commit()]
        found += [*self._list(language.CLAIMS, "final"), *self._list(language.PODS, "final")]
        return found[: dice.choice([len(found), dice.randrange(len(found))])]

    def _gap(self) -> Iterator[records.Body]:
        hidden = self._dice.choice([language.CLAIMS, language.CLAIMS, language.PODS])
        if not self._late or self._dice.random() < 0.8:  # or else the list comes of itself
            yield language.gap(hidden, self._rv - self._dice.choice([0, self._late]), 0)
        for _ in range(self._dice.randrange(5)):
            seen = self._commit()
            if seen.resource != hidden:
                yield seen
        yield from self._list(hidden, "relist")

    def _list(self, resource: str, purpose: str) -> Iterator[records.Body]:
        listed, kind = (
            list(self._live[resource].values()),
            "FINAL" if purpose == "final" else "LISTED",
        )
        self._dice.shuffle(listed)
        yield language.listed(resource, purpose, self._rv, len(listed), 0)
        for item in listed:
            yield msgspec.structs.replace(item, type=kind, ts_ns=self._count)

    def _commit(self) -> records.Observation:
        dice = self._dice
        resource = dice.choice([*[language.CLAIMS] * 6, language.PODS, observations.SLICES])
        self._rv, self._count = self._rv + dice.choice([1, 1, 3]), self._count + 1
        name, namespace, live = dice.choice("abc"), dice.choice("nnm"), self._live[resource]
        before = live.get(f"{namespace}/{name}")
        obj = json.loads(bytes(before.object)) if before else {}
        meta = {"name": name, "namespace": namespace, "uid": f"uid-{self._count}"}
        meta = {**obj.get("metadata", meta), "resourceVersion": str(self._rv)}
        is_gone = before is not None and dice.random() < 0.3
        if resource == observations.SLICES:
            obj["spec"] = self._slice()
        elif resource == language.CLAIMS and dice.random() < (0.3 if is_gone else 0.8):
            obj["status"] = self._status(obj.get("status", {}))
        kind = "DELETED" if is_gone else "MODIFIED" if before else "ADDED"
        seen = language.observation(resource, self._rv, obj | {"metadata": meta}, kind, self._count)
        live.pop(f"{namespace}/{name}", None)
        if not is_gone:
            live[f"{namespace}/{name}"] = seen
        return seen

    def _slice(self) -> dict[str, Any]:
        driver, pool = self._dice.choice(POOLS)
        flags = [True, False, None]
        devices = [
            {"name": it, "allowMultipleAllocations": self._dice.choice(flags)} for it in "ST"
        ]
        return {
            "driver": driver,
            "pool": {"name": pool},
            "devices": devices[: self._dice.randint(0, 2)],
        }

    def _status(self, before: dict[str, Any]) -> dict[str, Any]:
        dice, results = self._dice, []
        users = [{"resource": dice.choice(["pods", "others"]), "name": it} for it in "pqr"]
        reserved = dice.sample(users, dice.randrange(3))
        if before and dice.random() < 0.4:
            return before | {"reservedFor": reserved}
        for _ in range(dice.choice([0, 1, 1, 2, 3])):
            (driver, pool), device = dice.choice(POOLS), dice.choice("ST")
            consumed = {"consumedCapacity": dice.choice([None, {"m": "1"}])}
            named = {"driver": driver, "pool": pool, "device": device, "request": "r"}
            results.append(named | consumed | dice.choice(HOWS))
        allocation = {"devices": {"results": results}}
        return {"allocation": allocation if results else None, "reservedFor": reserved}


def _found(folded: hold_history.HoldHistory) -> Iterator[tuple[second_judge.Hold, set[str]]]:
    for hold in folded.holds:
        kind = "exclusive" if hold.exclusive else "share" if hold.shared else "admin"
        claim = hold.device, hold.uid, hold.namespace, hold.name, kind
        span = hold.from_rv, hold.until_rv, hold.from_ts_ns
        yield second_judge.Hold(*claim, *span), hold.pods


def _users(hold: second_judge.Hold, body: list[dict[str, Any]]) -> set[str]:
    return {
        user["name"]
        for it in body
        if it["record"] == "observation" and it["object"]["metadata"]["uid"] == hold.uid
        if it["type"] not in ("DELETED", "FINAL")
        if hold.from_rv <= it["resource_version"] < hold.end_rv
        for user in it["object"].get("status", {}).get("reservedFor", ())
        if user["resource"] == "pods"
    }


def test_random_histories_of_everything() -> None:
    kinds: collections.Counter[str] = collections.Counter()
    for seed in range(brute_force.HISTORIES // 15):
        body = _Cluster(seed).record()
        lines = [msgspec.json.encode(record) + b"\n" for record in body]
        forms = body, iter(body), observations.decode_lines(lines)
        folded, counted = _check(forms[seed % 3])
        read = [json.loads(line) for line in lines]
        truth = second_judge.holds(read)
        found = dict(_found(folded))
        assert len(folded.holds) == len(truth), seed
        again = hold_columns.of_events(folded.events, folded.claims.values())
        assert list(again) == list(folded.holds), seed
        assert found.keys() == set(truth), seed
        if seed % 2 == 0:
            assert found == {hold: _users(hold, read) for hold in truth}, seed
        assert counted == second_judge.count(read), seed
        kinds.update(
            {hold.kind for hold in truth}, double=counted.doubled > 0, fine=not counted.doubled
        )
    assert min(kinds.values()) > brute_force.HISTORIES // 50, kinds


@pytest.mark.parametrize("text", rewound.REWOUND.values(), ids=rewound.REWOUND)
def test_two_histories_are_not_put_in_one_order(text: str, tmp_path: pathlib.Path) -> None:
    run = building.build(tmp_path / "run", "", observations=rewound.whole(text))
    counted = second_judge.count(second_judge.read(run))
    assert counted == second_judge.Count(1, 0)
    assert counted != _checked(run)

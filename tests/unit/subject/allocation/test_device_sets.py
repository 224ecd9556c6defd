"""Sets of devices, compared with Python's own."""

import random

from harness.subject.allocation import device_sets

NAMES = [f"driver/pool-{index % 40}/device-{index}" for index in range(400)]


def test_a_set_and_its_copies_are_as_those_of_python() -> None:
    stream = random.Random(1)
    pairs = [(device_sets.DeviceSet(), set[str]())]
    for _ in range(5000):
        known, expected = stream.choice(pairs)
        name = stream.choice(NAMES)
        match stream.choice(["add", "discard", "copy"]):
            case "add":
                known.add(name)
                expected.add(name)
            case "discard":
                known.discard(name)
                expected.discard(name)
            case _ if len(pairs) < 20:
                pairs.append((known.copy(), set(expected)))
        assert (name in known) == (name in expected)
        assert len(known) == len(expected)
    assert all(known == expected for known, expected in pairs)
    newest, known_newest = pairs[-1]
    for known, expected in pairs:
        assert sorted(newest.lost_since(known)) == sorted(expected - known_newest)


def test_what_has_another_value_has_changed() -> None:
    older: device_sets.PartedMap[str, dict[str, int]] = device_sets.PartedMap()
    older["a"] = older["b"] = older["c"] = {"share": 1}
    newer = older.copy()
    newer["a"] = {"share": 2}
    del newer["b"]
    newer["d"] = {}
    assert sorted(newer.changed_since(older)) == ["a", "b"]
    assert older["a"] == {"share": 1}
    assert (len(older), len(newer)) == (3, 3)

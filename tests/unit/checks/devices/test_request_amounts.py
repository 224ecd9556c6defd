"""The amounts that requests take follow from their quantities, policies and capacities."""

import itertools
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from harness.checks.devices import capacities
from harness.checks.observed import observed_cluster
from harness.model import quantities
from tests.support import text_tables

DRIVER = "gpu.example"
POLICIES: dict[str, dict[str, Any]] = {
    "DEFAULT": {"default": "4"},
    "DEFAULT_BEYOND": {"default": "7", "validRange": {"min": "1", "max": "5"}},
    "RANGE": {"default": "2", "validRange": {"min": "2", "max": "8", "step": "3"}},
    "FROM_2": {"validRange": {"min": "2"}},
    "UP_TO_5": {"validRange": {"max": "5"}},
    "NO_STEP": {"validRange": {"min": "1", "step": "0"}},
    "NANOS": {"validRange": {"min": "0", "step": "5n"}},
    "EXBIBYTES": {"validRange": {"min": "1", "step": "1Ei"}},
    "VALUES": {"default": "2", "validValues": ["2", "4", "1Ki"]},
    "UNORDERED": {"validValues": ["8", "4", "2"]},
    "FRACTIONS": {"default": "500m", "validRange": {"min": "500m", "step": "500m"}},
}
MEMORY: dict[str, Any] = {"memory": {"value": "10"}}


def taken(capacity: Mapping[str, Any], asked: Mapping[str, str]) -> dict[str, capacities.Taken]:
    device = msgspec.convert({"name": "d", "capacity": capacity}, observed_cluster.Device)
    return capacities.of_device(device, DRIVER, asked)


ANSWERS = [
    pytest.param(question, amount, " ".join(refusal), id=question)
    for _, (question, amount, *refusal) in text_tables.rows(__file__, "request_amounts.txt")
]


@pytest.mark.parametrize(("question", "amount", "refusal"), ANSWERS)
def test_one_capacity(question: str, amount: str, refusal: str) -> None:
    said, _, policy = question.partition(" by ")
    asked, _, value = said.partition(" of ")
    entry = {"value": value} | ({"requestPolicy": POLICIES[policy]} if policy else {})
    found = taken({"memory": entry}, {} if asked == "all" else {"memory": asked})["memory"]
    assert found.amounts == {quantities.amount(amount)}
    assert refusal in found.refusal
    assert bool(refusal) is bool(found.refusal)


def test_a_range_agrees_with_walking_its_steps() -> None:
    for seed in range(300):
        stream = random.Random(seed)
        least, step, asked = (stream.randrange(1, 30) for _ in range(3))
        unit = stream.choice(["", "k", "Mi"])
        valid = {"min": f"{least}{unit}", "step": f"{step}{unit}"}
        entry = {"value": f"1000{unit}", "requestPolicy": {"validRange": valid}}
        steps = itertools.count(least, step)
        expected = next(amount for amount in steps if amount >= asked)
        found = taken({"memory": entry}, {"memory": f"{asked}{unit}"})["memory"]
        assert found.amounts == {quantities.amount(f"{expected}{unit}")}


@pytest.mark.parametrize("published", ["memory", f"{DRIVER}/memory"])
@pytest.mark.parametrize("asked", ["memory", f"{DRIVER}/memory"])
def test_a_name_without_a_domain_is_in_that_of_the_driver(published: str, asked: str) -> None:
    found = taken({published: {"value": "10"}}, {asked: "3"})
    assert {name: item.amounts for name, item in found.items()} == {"memory": {Fraction(3)}}


def test_a_name_of_another_domain_is_another_capacity() -> None:
    found = taken({"other.example/memory": {"value": "10"}}, {"memory": "3"})
    assert found["other.example/memory"].amounts == {Fraction(10)}


def test_a_request_with_both_names_is_ambiguous() -> None:
    with pytest.raises(capacities.AmbiguousNamesError, match="with and without its driver"):
        taken(MEMORY, {"memory": "3", f"{DRIVER}/memory": "3"})


@pytest.mark.parametrize("reverse", [False, True])
def test_of_a_capacity_that_is_published_twice_the_full_name_counts(*, reverse: bool) -> None:
    twice = [("memory", {"value": "10"}), (f"{DRIVER}/memory", {"value": "20"})]
    found = taken(dict(reversed(twice) if reverse else twice), {})
    assert found["memory"].amounts == {Fraction(20)}


def test_a_malformed_quantity_is_an_error() -> None:
    with pytest.raises(quantities.QuantityError, match="lots"):
        taken(MEMORY, {"memory": "lots"})

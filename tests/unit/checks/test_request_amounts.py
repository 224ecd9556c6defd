"""The amounts that requests take follow from their quantities, policies and capacities."""

import itertools
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from harness.checks import request_amounts
from harness.checks.observed import observed_slices
from harness.model import quantities

DRIVER = "gpu.example"
RANGE = {"default": "2", "validRange": {"min": "2", "max": "8", "step": "3"}}
VALUES = {"default": "2", "validValues": ["2", "4", "1Ki"]}
FRACTIONS = {"default": "500m", "validRange": {"min": "500m", "step": "500m"}}
MEMORY: dict[str, Any] = {"memory": {"value": "10"}}


def taken(
    capacity: Mapping[str, Any], asked: Mapping[str, str]
) -> dict[str, request_amounts.Taken]:
    device = msgspec.convert({"name": "d", "capacity": capacity}, observed_slices.Device)
    return request_amounts.of_device(device, DRIVER, asked)


@pytest.mark.parametrize(
    ("value", "policy", "asked", "amounts", "refusal"),
    [
        # Without a policy: what is asked for, or everything.
        ("10", None, None, ["10"], ""),
        ("10", None, "3", ["3"], ""),
        ("10", None, "0", ["0"], ""),
        ("10", None, "10", ["10"], ""),
        ("10", None, "11", ["11"], "takes 11, of 10 that there are"),
        ("10", None, "-1", ["-1"], "takes -1, which is less than nothing"),
        ("-1", None, None, ["-1"], "takes -1, which is less than nothing"),
        ("8Gi", None, "8589934592", ["8Gi"], ""),
        # A default alone.
        ("10", {"default": "4"}, None, ["4"], ""),
        ("10", {"default": "4"}, "3", ["3"], ""),
        ("3", {"default": "4"}, None, ["4"], "takes 4, of 3 that there are"),
        # A range: its minimum, or the next of its steps, up to its maximum.
        ("10", RANGE, None, ["2"], ""),
        ("10", RANGE, "0", ["2"], ""),
        ("10", RANGE, "2", ["2"], ""),
        ("10", RANGE, "3", ["5"], ""),
        ("10", RANGE, "5", ["5"], ""),
        ("10", RANGE, "5001m", ["8"], ""),
        ("10", RANGE, "8", ["8"], ""),
        ("20", RANGE, "9", ["11"], "takes 11, which its request policy does not allow"),
        ("10", {"validRange": {"min": "2"}}, "3", ["3"], ""),
        ("10", {"validRange": {"min": "2"}}, "1", ["2"], ""),
        ("10", {"validRange": {"max": "5"}}, "6", ["6"], "request policy does not allow"),
        ("10", {"default": "7", "validRange": {"min": "1", "max": "5"}}, None, ["7"], ""),
        ("10", {"validRange": {"min": "1", "step": "0"}}, "3", ["3"], ""),
        # Fractions are exact; older releases count with integers, and take more.
        ("10", FRACTIONS, "1200m", ["1500m"], ""),
        ("10", FRACTIONS, "300m", ["500m"], ""),
        ("1700m", FRACTIONS, "1200m", ["1500m"], ""),
        ("1", {"validRange": {"min": "0", "step": "5n"}}, "7n", ["10n"], ""),
        # Values: the next one.
        ("2Ki", VALUES, None, ["2"], ""),
        ("2Ki", VALUES, "1", ["2"], ""),
        ("2Ki", VALUES, "3", ["4"], ""),
        ("2Ki", VALUES, "4", ["4"], ""),
        ("2Ki", VALUES, "5", ["1Ki"], ""),
        ("2Ki", VALUES, "1025", ["1025"], "takes 1025, which its request policy does not allow"),
        # Beyond 64 bits, where floats are no longer exact.
        ("20E", None, "18446744073709551617", ["18446744073709551617"], ""),
        ("20E", None, None, ["2e19"], ""),
        ("16Ei", {"validRange": {"min": "1", "step": "1Ei"}}, "15Ei", ["17293822569102704641"], ""),
        ("1e20", None, "100E", ["1e20"], ""),
        (
            "100E",
            None,
            "100000000000000000001",
            ["100000000000000000001"],
            "of 100E that there are",
        ),
    ],
)
def test_one_capacity(
    value: str, policy: Any, asked: str | None, amounts: list[str], refusal: str
) -> None:
    entry = {"value": value} | ({"requestPolicy": policy} if policy else {})
    found = taken({"memory": entry}, {} if asked is None else {"memory": asked})["memory"]
    assert found.amounts == {quantities.amount(text) for text in amounts}
    assert refusal in found.refusal
    assert bool(refusal) is bool(found.refusal)


@pytest.mark.parametrize("seed", range(300))
def test_a_range_agrees_with_walking_its_steps(seed: int) -> None:
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
    with pytest.raises(request_amounts.AmbiguousNamesError, match="with and without its driver"):
        taken(MEMORY, {"memory": "3", f"{DRIVER}/memory": "3"})


@pytest.mark.parametrize("reverse", [False, True])
def test_of_a_capacity_that_is_published_twice_the_full_name_counts(*, reverse: bool) -> None:
    twice = [("memory", {"value": "10"}), (f"{DRIVER}/memory", {"value": "20"})]
    found = taken(dict(reversed(twice) if reverse else twice), {})
    assert found["memory"].amounts == {Fraction(20)}


def test_a_malformed_quantity_is_an_error() -> None:
    with pytest.raises(quantities.QuantityError, match="lots"):
        taken(MEMORY, {"memory": "lots"})

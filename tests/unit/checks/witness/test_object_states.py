"""One version of an object: what two witnesses must have in common."""

import random
from typing import Any

import pytest

from harness.checks.witness import object_states

META = {"name": "a", "uid": "uid-a", "resourceVersion": "1"}


def state(form: str = "v1", **fields: Any) -> object_states.State:
    return object_states.of({"apiVersion": form, "metadata": META, **fields})


@pytest.mark.parametrize(
    ("one", "two", "differing"),
    [
        (state(), state(spec={"a": 1}), ["spec"]),
        (state(), state(form="", spec={"a": 1}), ["spec"]),
        (state(form=""), state(spec={"a": 1}), ["spec"]),
        (state(form=""), state(form="", spec={"a": 1}), ["spec"]),
        (state(), state(form="v2", spec={"a": 1}), []),
        (state(), state(form="v2", spec={"nodeName": "n"}), ["status"]),
        (state(), state(spec={"nodeName": "n"}), ["spec"]),
        (state(), state(status={"phase": "Running"}), ["status"]),
    ],
)
def test_only_another_version_of_the_api_excuses_other_fields(
    one: object_states.State, two: object_states.State, differing: list[str]
) -> None:
    assert one.differing(two) == differing
    assert two.differing(one) == differing


def test_the_devices_of_an_allocation_are_in_order() -> None:
    results = [{"driver": "d", "pool": "p", "device": f"D{number:02}"} for number in range(20)]
    names = tuple(f"d/p/{item['device']}" for item in results)
    random.Random(1).shuffle(results)
    assert state(status={"allocation": {"devices": {"results": results}}}).held == names

"""A remedy for H2: an update from one allocation to another is not ignored."""

from typing import Any

import pytest

from harness.subject.remedies import scheduler_remedies
from tests.support import api_objects

A, B, C = (api_objects.device_id(name) for name in "abc")
Steps = list[tuple[str, dict[str, object]]]


def claim(*devices: str) -> dict[str, Any]:
    allocated = api_objects.allocation(*devices) if devices else None
    return api_objects.claim("c", version=1, allocated=allocated)


@pytest.fixture
def allocated() -> scheduler_remedies.ComparedDevices:
    made = scheduler_remedies.ComparedDevices()
    made.on_add(claim("a", "b"), initial=True)
    return made


def test_another_device_is_noticed(allocated: scheduler_remedies.ComparedDevices) -> None:
    allocated.on_update(claim("a", "b"), claim("b", "c"))
    assert allocated.get()[0].devices == {B, C}


def test_the_new_device_is_in_before_the_old_one_is_out(
    allocated: scheduler_remedies.ComparedDevices, steps: Steps
) -> None:
    before = allocated.revision()
    allocated.on_update(claim("a", "b"), claim("c"))
    names = [name for name, _ in steps]
    assert names == [
        "remedy.reallocation-seen",
        "allocated-devices.inserted",
        "allocated-devices.removed",
        "allocated-devices.removed",
    ]
    assert allocated.revision() == before + 2


@pytest.mark.parametrize("devices", [("a", "b"), ("b", "a")])
def test_an_update_of_something_else_changes_nothing(
    allocated: scheduler_remedies.ComparedDevices, devices: tuple[str, ...], steps: Steps
) -> None:
    before = allocated.get()
    allocated.on_update(claim("a", "b"), claim(*devices))
    assert (allocated.get(), steps) == (before, [])

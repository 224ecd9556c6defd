"""Which devices let claims share them, by all versions of their slices."""

from typing import Any

import pytest

from harness.checks.consumption import declared_devices


def piece(version: int, **device: Any) -> dict[str, Any]:
    """A version of the only slice of a pool, with one device."""
    return {
        "metadata": {"name": "s", "uid": "u", "resourceVersion": str(version)},
        "spec": {"driver": "d", "pool": {"name": "p"}, "devices": [{"name": "x", **device}]},
    }


OFFERED, REFUSED = {"allowMultipleAllocations": True}, {"allowMultipleAllocations": False}


@pytest.mark.parametrize(
    ("versions", "is_shareable"),
    [
        ([], None),
        ([{}], False),
        ([REFUSED], False),
        ([OFFERED], True),
        ([{}, OFFERED], True),
        ([OFFERED, {}], True),
        ([REFUSED, {}], False),
    ],
)
def test_a_device_can_be_shared_if_a_version_ever_said_so(
    versions: list[dict[str, Any]], is_shareable: bool | None
) -> None:
    declared = declared_devices.DeclaredDevices()
    for number, device in enumerate(versions, start=1):
        declared.note(piece(number, **device))
    assert declared.is_shareable("d/p/x") is is_shareable
    assert declared.is_shareable("d/p/y") is None

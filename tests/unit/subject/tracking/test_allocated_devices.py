"""Which devices are allocated, as events tell it."""

import pytest

from harness.subject.tracking import allocated_devices, gathering, in_flight
from tests.support import api_objects, controlled_runtimes

A, B = api_objects.device_id("a"), api_objects.device_id("b")


def claim(*devices: str, name: str = "c", version: int = 1) -> dict[str, object]:
    allocated = api_objects.allocation(*devices) if devices else None
    return api_objects.claim(name, version=version, allocated=allocated)


@pytest.fixture
def allocated() -> allocated_devices.AllocatedDevices:
    return allocated_devices.AllocatedDevices()


def test_admin_access_and_shares_claim_nothing(
    allocated: allocated_devices.AllocatedDevices,
) -> None:
    made = claim("a")
    made["status"] = {
        "allocation": {
            "devices": {
                "results": [
                    api_objects.result("a", adminAccess=True),
                    api_objects.result("b", shareID="0d3b2c0e-0000-4000-8000-000000000000"),
                    api_objects.result("c", adminAccess=False),
                ]
            }
        }
    }
    allocated.on_add(made, initial=False)
    assert allocated.get()[0].devices == {api_objects.device_id("c")}


def test_devices_are_not_counted_as_upstream(
    allocated: allocated_devices.AllocatedDevices,
) -> None:
    """Two holders, one leaves: the device looks free. One double allocation breeds others."""
    allocated.on_add(claim("a", name="c1"), initial=False)
    allocated.on_add(claim("a", name="c2"), initial=False)
    allocated.on_delete(claim("a", name="c1"))
    assert allocated.get()[0].devices == set()


def test_a_gather_without_a_moment_of_rest_ends(
    time: controlled_runtimes.VirtualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Restless(allocated_devices.AllocatedDevices):
        def revision(self) -> int:
            self.on_add(claim("a"), initial=False)
            return super().revision()

    monkeypatch.setattr(gathering, "TIMEOUT_S", 0.001)
    gatherer = gathering.Gatherer(Restless(), in_flight.InFlightClaims())
    with pytest.raises(gathering.GatherTimeoutError, match="conflicting"):
        gatherer.gather()
    assert time.now_s >= 0.001

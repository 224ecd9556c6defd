"""How a claim holds the devices of its allocation, by one result and by several."""

from typing import Any

import msgspec
import pytest

from harness.checks.observed import claim_results, observed_claims

SHARE = {"shareID": "s", "consumedCapacity": {"memory": "1Gi"}}
OTHER = {"shareID": "t", "consumedCapacity": {"memory": "2Gi"}}
PLAIN: dict[str, Any] = {}
ADMIN = {"adminAccess": True}
WHOLE = claim_results.Held(exclusive=True, shared=False)
ONE = claim_results.Held(exclusive=False, shared=True, consumed=(("memory", "1Gi"),))
TWO = claim_results.Held(
    exclusive=False, shared=True, consumed=(("memory", "1Gi"), ("memory", "2Gi"))
)
BOTH = claim_results.Held(exclusive=True, shared=True, consumed=(("memory", "1Gi"),))
NOT = claim_results.Held(exclusive=False, shared=False)


def held(*results: dict[str, Any]) -> dict[str, claim_results.Held]:
    devices = [{"driver": "d", "pool": "p", "device": "x"} | result for result in results]
    allocation = msgspec.convert({"devices": {"results": devices}}, observed_claims.Allocation)
    return claim_results.held(allocation)


@pytest.mark.parametrize(
    ("results", "how"),
    [
        ([PLAIN], WHOLE),
        ([ADMIN], NOT),
        ([SHARE], ONE),
        ([{"shareID": "s"}], claim_results.Held(shared=True)),
        ([SHARE | ADMIN], NOT),
        ([PLAIN, ADMIN], WHOLE),
        ([ADMIN, PLAIN], WHOLE),
        ([ADMIN, ADMIN], NOT),
        ([SHARE, OTHER], TWO),
        ([SHARE, ADMIN], ONE),
        ([ADMIN, SHARE], ONE),
        ([SHARE, PLAIN], BOTH),
        ([PLAIN, SHARE], BOTH),
    ],
)
def test_all_results_of_a_device_say_together_how_it_is_held(
    results: list[dict[str, Any]], how: claim_results.Held
) -> None:
    assert held(*results) == {"d/p/x": how}


def test_each_device_is_held_by_its_own_results() -> None:
    assert held(PLAIN, SHARE | {"device": "y"}) == {"d/p/x": WHOLE, "d/p/y": ONE}


def test_no_allocation_and_no_result_hold_nothing() -> None:
    assert claim_results.held(None) == held() == {}

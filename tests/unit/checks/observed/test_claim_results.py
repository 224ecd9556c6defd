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
SMALL = claim_results.Share(written=(("memory", "1Gi"),))
LARGE = claim_results.Share(written=(("memory", "2Gi"),))
ONE = claim_results.Held(shared=True, shares=(SMALL,))
TWO = claim_results.Held(shared=True, shares=(SMALL, LARGE))
BOTH = claim_results.Held(exclusive=True, shared=True, shares=(SMALL,))
NOT = claim_results.Held(exclusive=False, shared=False)


def held(*results: dict[str, Any], requests: Any = ()) -> dict[str, claim_results.Held]:
    devices = [{"driver": "d", "pool": "p", "device": "x"} | result for result in results]
    allocation = msgspec.convert({"devices": {"results": devices}}, observed_claims.Allocation)
    asked = msgspec.convert({"requests": list(requests)}, observed_claims.DeviceClaim)
    return claim_results.held(allocation, asked)


@pytest.mark.parametrize(
    ("results", "how"),
    [
        ([PLAIN], WHOLE),
        ([ADMIN], NOT),
        ([SHARE], ONE),
        ([{"shareID": "s"}], claim_results.Held(shared=True, shares=(claim_results.Share(),))),
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
    assert claim_results.held(None, observed_claims.DeviceClaim()) == held() == {}


ASKS = {"requests": {"memory": "3Gi"}}
REQUESTS = [
    {"name": "r", "exactly": {"capacity": ASKS}},
    {"name": "q", "firstAvailable": [{"name": "x"}, {"name": "y", "capacity": ASKS}]},
]


@pytest.mark.parametrize(
    ("request_name", "asked"),
    [
        ("r", (("memory", "3Gi"),)),
        ("q/x", ()),
        ("q/y", (("memory", "3Gi"),)),
        ("q", None),
        ("q/z", None),
        ("s", None),
    ],
)
def test_a_share_knows_what_its_request_asks_for(request_name: str, asked: object) -> None:
    [how] = held(SHARE | {"request": request_name}, requests=REQUESTS).values()
    assert [share.asked for share in how.shares] == [asked]


def test_only_shares_depend_on_what_was_asked() -> None:
    def known(*results: dict[str, Any]) -> object:
        devices = [{"driver": "d", "pool": "p", "device": "x"} | result for result in results]
        content = {"devices": {"results": devices}}
        return claim_results.without_shares(msgspec.convert(content, observed_claims.Allocation))

    assert known(PLAIN) == {"d/p/x": WHOLE}
    assert known(PLAIN, SHARE) is None
    assert known(SHARE | ADMIN) == {"d/p/x": NOT}

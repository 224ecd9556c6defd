"""How a claim holds the devices of its allocation, by one result and by several."""

from typing import Any

import msgspec
import pytest

from harness.checks.holds import claim_events
from harness.checks.observed import observed_claims

SHARE = {"shareID": "s", "consumedCapacity": {"memory": "1Gi"}}
OTHER = {"shareID": "t", "consumedCapacity": {"memory": "2Gi"}}
PLAIN: dict[str, Any] = {}
ADMIN = {"adminAccess": True}
WHOLE = claim_events.Held(exclusive=True, shared=False)
SMALL = claim_events.Share(written=(("memory", "1Gi"),))
LARGE = claim_events.Share(written=(("memory", "2Gi"),))
ONE = claim_events.Held(shared=True, shares=(SMALL,))
TWO = claim_events.Held(shared=True, shares=(SMALL, LARGE))
BOTH = claim_events.Held(exclusive=True, shared=True, shares=(SMALL,))
NOT = claim_events.Held(exclusive=False, shared=False)


def held(*results: dict[str, Any], requests: Any = ()) -> dict[str, claim_events.Held]:
    devices = [{"driver": "d", "pool": "p", "device": "x"} | result for result in results]
    allocation = msgspec.convert({"devices": {"results": devices}}, observed_claims.Allocation)
    asked = msgspec.convert({"requests": list(requests)}, observed_claims.DeviceClaim)
    return claim_events.held(allocation, asked)


def test_what_is_not_allocated_holds_nothing() -> None:
    assert claim_events.held(None, observed_claims.DeviceClaim()) == {}


@pytest.mark.parametrize(
    ("results", "how"),
    [
        ([PLAIN], WHOLE),
        ([ADMIN], NOT),
        ([SHARE], ONE),
        ([{"shareID": "s"}], claim_events.Held(shared=True, shares=(claim_events.Share(),))),
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
    results: list[dict[str, Any]], how: claim_events.Held
) -> None:
    assert held(*results) == {"d/p/x": how}


@pytest.mark.parametrize(
    ("request_name", "asked"),
    [("r", 1), ("f/x", 2), ("f/y", 3), *((it, None) for it in ("f", "f/z", "r/x", "x", "q", ""))],
)
def test_a_share_has_what_its_request_or_its_alternative_asks_for(
    request_name: str, asked: int | None
) -> None:
    one, two, three = ({"capacity": {"requests": {"memory": f"{it}Gi"}}} for it in (1, 2, 3))
    options = [{"name": "x", **two}, {"name": "y", **three}]
    requests = [{"name": "r", "exactly": one}, {"name": "f", "firstAvailable": options}]
    [how] = held(SHARE | {"request": request_name}, requests=requests).values()
    assert [share.asked for share in how.shares] == [asked and (("memory", f"{asked}Gi"),)]

"""Which allocation results give a device to one claim alone: the same answer from the judge, the
spotter and the scheduler.
"""

import pathlib
from typing import Any

import pytest

from harness.checks import judging, verdicts
from harness.checks.holds import hold_history, live_spotter
from harness.subject.objects import claims
from tests.histories import building, damages, language

SHARE = "0d3b2c0e-0000-4000-8000-000000000000"
RESULTS: dict[str, tuple[dict[str, Any], bool]] = {
    "plain": ({}, True),
    "an empty share": ({"shareID": ""}, True),
    "no share": ({"shareID": None}, True),
    "a share": ({"shareID": SHARE}, False),
    "no admin access": ({"adminAccess": False}, True),
    "admin access": ({"adminAccess": True}, False),
    "admin access with an empty share": ({"adminAccess": True, "shareID": ""}, False),
}


@pytest.mark.parametrize(("extra", "exclusive"), RESULTS.values(), ids=RESULTS)
def test_all_of_them_agree(extra: dict[str, Any], exclusive: bool) -> None:
    result = {"driver": "d", "pool": "p", "device": "D1", **extra}
    allocation = {"devices": {"results": [result]}}
    claim = {
        "metadata": {"name": "a", "uid": "uid-a", "resourceVersion": "1"},
        "status": {"allocation": allocation},
    }
    seen = language.observation(language.CLAIMS, 1, claim, "ADDED")
    assert [hold.exclusive for hold in hold_history.fold([seen]).holds] == [exclusive]
    gone = language.observation(language.CLAIMS, 1, claim, "DELETED")
    assert hold_history.fold([gone]).holds.device_count == 0
    assert live_spotter.exclusive_devices(claim) == ({"d/p/D1"} if exclusive else set())
    assert list(claims.exclusive_devices(allocation)) == (["d/p/D1"] if exclusive else [])


@pytest.mark.parametrize(
    ("share", "verdict"), [("", verdicts.Verdict.INVALID), (SHARE, verdicts.Verdict.UNKNOWN)]
)
def test_a_device_in_two_claims(
    tmp_path: pathlib.Path, share: str, verdict: verdicts.Verdict
) -> None:
    directory = building.build(tmp_path / "run", "a+D1% b+D1%")

    def with_share(body: damages.Body) -> damages.Body:
        return language.replaced(body, '"share"', f'"{share}"')

    damages.changed(damages.observations, with_share)(directory)
    assert judging.judge(directory).verdict is verdict

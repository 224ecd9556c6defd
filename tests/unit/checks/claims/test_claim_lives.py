"""Versions that come twice, and what is not seen in a gap."""

from harness.checks.claims import claim_lives
from harness.checks.observed import observations
from harness.history import records
from tests.histories import placements
from tests.histories.placements import claim, result


def _fold(*versions: tuple[int, placements.Event]) -> claim_lives.ClaimLives:
    lives = claim_lives.ClaimLives()
    for version, event in versions:
        lives.see_claim(placements.observed(event, version))
    return lives


def test_two_allocations_of_one_version_are_no_change_in_place() -> None:
    one, other = claim("c", result("D1")), claim("c", result("D2"))
    assert _fold((3, one), (3, other)).moves == []
    assert _fold((3, one), (2, other)).moves == []
    assert [move.version for move in _fold((3, one), (4, other)).moves] == [4]


def test_claims_without_reservations_have_none_at_most() -> None:
    assert _fold((3, claim("c", result("D1")))).most == 0
    assert _fold((3, claim("c", result("D1"), users=["p", "q"]))).most == 2


def test_a_generated_claim_may_be_gone_right_after_the_last_version_before_a_gap() -> None:
    made = claim("c")
    made.obj["metadata"] |= {
        "annotations": {claim_lives.ENTRY: "device"},
        "ownerReferences": [{"kind": "Pod", "uid": "p", "controller": True}],
    }
    lives = _fold((3, made))
    lives.see_gap(
        records.Gap(resource=observations.CLAIMS, after_resource_version=7, reason="410", ts_ns=1)
    )
    [[known]] = lives.generated.values()
    assert known.gone_version == 8

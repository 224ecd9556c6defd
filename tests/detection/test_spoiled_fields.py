"""Each field that the API calls a copy or computed: a defect that spoils it is always caught.

`tests/README.md` has the table of fields, rules and defects.
"""

import pytest

from harness.checks import verdicts
from harness.checks.devices import (
    copied_results,
    granted_access,
    granted_shares,
    reachable_devices,
    requested_results,
)
from harness.subject.allocation import allocators
from tests.detection import spoiled_plays
from tests.support.spoiled import spoiled_fields as spoiled

pytestmark = pytest.mark.detection
VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
HISTORIES = 20
RULES: dict[type[allocators.Allocator], str] = {
    spoiled.TolerationsLost: copied_results.NAME,
    spoiled.TolerationsInvented: copied_results.NAME,
    spoiled.ConditionsLost: copied_results.NAME,
    spoiled.FailureConditionsLost: copied_results.NAME,
    spoiled.ConfigOfClassLost: copied_results.NAME,
    spoiled.ConfigOfClaimLost: copied_results.NAME,
    spoiled.ConfigSourceChanged: copied_results.NAME,
    spoiled.ConfigReversed: copied_results.NAME,
    spoiled.ConfigWidened: copied_results.NAME,
    spoiled.SelectorNarrowed: reachable_devices.NAME,
    spoiled.SelectorLost: reachable_devices.NAME,
    spoiled.AmountsOmitted: granted_shares.NAME,
    spoiled.AmountsTooLow: granted_shares.NAME,
    spoiled.AmountsTooHigh: granted_shares.NAME,
    spoiled.AmountsBelowZero: granted_shares.NAME,
    spoiled.AmountsOfOtherNames: granted_shares.NAME,
    spoiled.ShareIDLost: granted_shares.NAME,
    spoiled.ShareIDInvented: granted_shares.NAME,
    spoiled.AdminAccessLost: granted_access.NAME,
    spoiled.RequestOfAlternativeShortened: requested_results.NAME,
}


@pytest.mark.parametrize("defect", RULES, ids=lambda kind: str(kind.__name__))
def test_a_spoiled_field_is_caught_in_each_history(defect: type[allocators.Allocator]) -> None:
    for seed in range(HISTORIES):
        found = spoiled_plays.judge(spoiled_plays.perform(seed, defect))
        assert found[RULES[defect]] is INVALID, seed


def test_the_correct_allocator_breaks_no_rule() -> None:
    for seed in range(HISTORIES):
        found = spoiled_plays.judge(spoiled_plays.perform(seed, allocators.Allocator))
        assert set(found.values()) == {VALID}, (seed, found)

"""The claim controller's records: one claim for each entry, never dropped, none after the end."""

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.claim_control import controller_records
from harness.history import plans, records
from tests.histories import building
from tests.unit.checks.claim_control import controller_events

POD = controller_events.POD
claim = controller_events.claim
judge = controller_events.judge
pod = controller_events.pod


def test_one_claim_for_each_entry_is_valid() -> None:
    result = judge(
        [
            pod(1, phase="Pending"),
            claim(2, "a", entry="one"),
            claim(3, "b", entry="two"),
            pod(4, one="a", two="b"),
            claim(5, "a", entry="one", reserved=[POD]),
            pod(6, phase="Succeeded", one="a", two="b"),
            claim(7, "a", entry="one"),
        ]
    )
    assert result.verdict is verdicts.Verdict.VALID
    assert result.reason == "generated claims: 2, for 2 entries of pods"


def test_without_a_pod_nothing_was_examined() -> None:
    assert judge([]).verdict is verdicts.Verdict.UNKNOWN


# ------------------------------------------------------------------------- lost records


def test_a_record_that_vanishes_is_found() -> None:
    result = judge([pod(1, one="a", two="b"), pod(2, two="c"), pod(3, one="a")])
    (violation,) = result.violations
    assert violation.summary == "pod pod lost the record of one"
    assert "which resourceVersion 2 dropped; records were dropped 2 times" in violation.text
    assert violation.resource_versions == [2, 3]


def test_another_claim_or_none_may_be_recorded_for_an_entry() -> None:
    assert judge([pod(1, one="a"), pod(2, one="b"), pod(3, one=None)]).violation_count == 0


# ----------------------------------------------------------------------- after the end


def _ended(*later: records.Observation) -> verdicts.CheckResult:
    return judge([pod(1), claim(2, "a", reserved=[POD]), pod(3, phase="Failed"), *later])


def test_one_claim_after_the_end_may_come_from_a_late_view_and_a_second_one_not() -> None:
    late = [claim(4, "a", kind="DELETED"), claim(5, "b"), claim(6, "b", kind="DELETED")]
    assert _ended(*late).verdict is verdicts.Verdict.VALID
    (violation,) = _ended(*late, claim(7, "c")).violations
    assert violation.summary == "pod pod got claims for device after its end"
    assert violation.resource_versions == [5, 7]


@pytest.mark.parametrize("controlled", [False, None])
def test_a_claim_that_its_pod_does_not_control_is_not_the_controllers(
    controlled: bool | None,
) -> None:
    others = [claim(version, f"c{version}", controlled=controlled) for version in (4, 5)]
    result = _ended(*others)
    assert result.verdict is verdicts.Verdict.VALID
    assert result.reason == "generated claims: 1, for 1 entries of pods"


def test_the_reason_counts_the_other_findings() -> None:
    dropped = [pod(4, phase="Failed", one="a"), pod(5, phase="Failed")]
    result = _ended(*dropped, claim(6, "b"), claim(7, "c"))
    assert result.reason == "pod pod lost the record of one, and 1 more"
    assert _ended(*dropped).reason == "pod pod lost the record of one"


def test_a_reservation_that_comes_and_goes_after_the_end_is_found() -> None:
    once = [claim(4, "a"), claim(5, "a", reserved=[POD]), claim(6, "a")]
    assert _ended(*once).verdict is verdicts.Verdict.VALID
    (violation,) = _ended(*once, claim(7, "a", reserved=[POD])).violations
    assert violation.summary == "pod pod got reservations after its end"
    assert violation.resource_versions == [5, 7]


@pytest.mark.parametrize(
    ("progress_s", "steps", "expected"),
    [(5.0, ["scheduler", "claim-controller"], True), (None, ["claim-controller"], False), (5.0, ["scheduler"], False)],
)  # fmt: skip
def test_it_is_owed_by_our_controller_where_progress_is_judged(
    progress_s: float | None, steps: list[str], expected: bool
) -> None:
    plan: plans.Plan = msgspec.structs.replace(
        building.plan(), progress_s=progress_s, expected_steps=steps
    )
    assert controller_records.applies(plan) is expected

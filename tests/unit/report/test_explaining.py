"""Which read was stale: told from the order of the subject's steps, and never guessed."""

import msgspec
import pytest

from harness.checks import device_exclusivity, verdicts
from harness.checks.holds import hold_history
from harness.history import records
from harness.report.causes import explaining
from tests.histories import language
from tests.unit.report import races

BETWEEN_READS = "copied the allocated devices before the device of a was inserted"
LEFT_TOO_EARLY = (
    "a left the claims in flight before its device was inserted into the allocated devices"
)
BRED = "The release of another claim (uid-c) removed the device from the allocated devices while a still"
NEITHER = "The order of the steps matches neither of the two known stale reads."
NOT_ALL = "Some of the steps around it were not recorded, so the stale read is unknown."


@pytest.fixture
def violation() -> verdicts.DoubleAllocation:
    result = device_exclusivity.check(
        hold_history.fold(language.observe(races.TEXT)), lambda _: None
    )
    [found] = verdicts.double_allocations([result])
    return found


ORDERS: dict[str, tuple[list[races.Line], str]] = {
    "gather not atomic": (races.NOT_ATOMIC, BETWEEN_READS),
    "assume returned early": (races.EARLY_RETURN, LEFT_TOO_EARLY),
    "never inserted": (
        [races.added(races.A), races.removed(races.A), *races.GATHER, races.added(races.B)],
        LEFT_TOO_EARLY,
    ),
    "bred by an earlier one": (races.BRED, BRED),
    "the subject did nothing wrong": (races.SOUND, NEITHER),
    "no steps": ([], explaining.NO_STEPS),
    "no gather": ([races.added(races.A), races.removed(races.A), races.added(races.B)], NOT_ALL),
    "the first claim stayed in flight": (
        [races.added(races.A), *races.GATHER, races.added(races.B)],
        NOT_ALL,
    ),
    "the first claim was never planned": ([*races.GATHER, races.added(races.B)], NOT_ALL),
    "the first claim's own release frees nothing for others": (
        [*races.SOUND[:3], races.freed(races.A), *races.SOUND[3:]],
        NEITHER,
    ),
    "the first claim was planned before, in vain": (
        [
            races.added(races.A),
            races.inserted(races.A),
            races.freed(races.A),
            races.removed(races.A),
            *races.NOT_ATOMIC,
        ],
        BETWEEN_READS,
    ),
}


@pytest.mark.parametrize(("lines", "expected"), ORDERS.values(), ids=ORDERS)
def test_orders(
    violation: verdicts.DoubleAllocation, lines: list[races.Line], expected: str
) -> None:
    found = explaining.explain(violation, races.steps(lines))
    assert expected in found
    assert explaining.SEE_FAULTS not in found


# -------------------------------------------------------------------------- two schedulers

OTHER = "scheduler-2"
SEEN_BY_FIRST = [races.added(races.A), races.inserted(races.A), races.removed(races.A)]
GATHERED_BY_OTHER = [*races.GATHER, races.added(races.B)]
SEEN_BY_OTHER = [races.inserted(races.A, "informer")]
TWO: dict[str, tuple[list[tuple[str, list[races.Line]]], str]] = {
    "the event came late": (
        [("scheduler", SEEN_BY_FIRST), (OTHER, [*GATHERED_BY_OTHER, *SEEN_BY_OTHER])],
        "copied the allocated devices before the event of that allocation inserted the device of a.",
    ),
    "the event never came": (
        [("scheduler", SEEN_BY_FIRST), (OTHER, GATHERED_BY_OTHER)],
        "copied the allocated devices before it knew of that allocation at all.",
    ),
    "the event came in time": (
        [("scheduler", SEEN_BY_FIRST), (OTHER, [*SEEN_BY_OTHER, *GATHERED_BY_OTHER])],
        NEITHER,
    ),
}


@pytest.mark.parametrize(("parts", "expected"), TWO.values(), ids=TWO)
def test_another_scheduler_does_not_know_the_claims_in_flight(
    violation: verdicts.DoubleAllocation,
    parts: list[tuple[str, list[races.Line]]],
    expected: str,
) -> None:
    holders = [
        msgspec.structs.replace(holder, scheduler=name)
        for holder, name in zip(violation.holders, ("scheduler", OTHER), strict=True)
    ]
    lines = [
        (f"{process}/{thread}", name, fields)
        for process, steps in parts
        for thread, name, fields in steps
    ]
    found = explaining.explain(
        msgspec.structs.replace(violation, holders=holders), races.steps(lines)
    )
    assert found.endswith(expected)


# -------------------------------------------------------------------------------- faults

LOST = verdicts.FaultEffect(
    fault="lost-answers",
    kind="lose-response",
    object="ResourceClaim tests/a",
    resource_version=1,
    begun_ns=language.at(1),
    ended_ns=language.at(1),
    text="",
)


def test_a_write_that_seemed_to_fail(violation: verdicts.DoubleAllocation) -> None:
    faulty = msgspec.structs.replace(violation, faults=[LOST])
    found = explaining.explain(faulty, races.steps(races.EARLY_RETURN))
    assert "a left the claims in flight when its status write seemed to fail" in found
    assert BETWEEN_READS in explaining.explain(faulty, races.steps(races.NOT_ATOMIC))


def test_steps_in_order_refer_to_the_faults(violation: verdicts.DoubleAllocation) -> None:
    faulty = msgspec.structs.replace(violation, faults=[LOST])
    found = explaining.explain(faulty, races.steps(races.SOUND))
    assert found == f"{NEITHER} The faults explain what the scheduler did not know."


@pytest.mark.parametrize("change", [{"kind": "reject"}, {"object": "ResourceClaim tests/b"}])
def test_other_faults_do_not_hide_its_outcome(
    violation: verdicts.DoubleAllocation, change: dict[str, str]
) -> None:
    effect = msgspec.structs.replace(LOST, **change)
    faulty = msgspec.structs.replace(violation, faults=[effect])
    assert LEFT_TOO_EARLY in explaining.explain(faulty, races.steps(races.EARLY_RETURN))


def test_other_claims_and_devices_do_not_matter(violation: verdicts.DoubleAllocation) -> None:
    noise = [races.added(races.C, "other"), races.removed(races.C), races.inserted(races.C)]
    lines = [line for pair in zip(races.NOT_ATOMIC, noise * 3, strict=False) for line in pair]
    found: list[records.Step] = races.steps(lines)
    assert BETWEEN_READS in explaining.explain(violation, found)

"""Devices that were allocated although the scheduler must have known that they were tainted."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.taints import attempt_views, tainted_devices
from harness.history import histories, journal_writer, records
from harness.scenario import loading
from tests.histories import building, language
from tests.unit.checks.taints import taint_events

Object = dict[str, Any]
DRIVER = taint_events.DRIVER
INVALID = taint_events.INVALID
UNKNOWN = taint_events.UNKNOWN
VALID = taint_events.VALID
claim = taint_events.claim
device = taint_events.device
judge = taint_events.judge
piece = taint_events.piece
rule = taint_events.rule
view = taint_events.view

CLEAN, TAINTED = device("d"), device("d", "NoSchedule")
ALLOCATED = claim(9, allocated="d")
CASES: dict[str, tuple[list[records.Body], attempt_views.View, bool]] = {
    "never tainted": ([piece(1, CLEAN)], view(1), False),
    "tainted from the beginning": ([piece(1, TAINTED)], view(1), True),
    "tainted before the attempt": ([piece(1, CLEAN), piece(3, TAINTED)], view(3), True),
    "tainted, but perhaps not seen": ([piece(1, CLEAN), piece(3, TAINTED)], view(2), False),
    "tainted during the attempt": ([piece(1, CLEAN), piece(8, TAINTED)], view(1), False),
    "untainted in the meantime": ([piece(1, TAINTED), piece(5, CLEAN)], view(1), False),
    "clean for a while": ([piece(1, TAINTED), piece(5, CLEAN), piece(6, TAINTED)], view(3), False),
    "clean before that": ([piece(1, CLEAN), piece(2, TAINTED), piece(5, TAINTED)], view(4), True),
    "an effect that keeps nothing away": ([piece(1, device("d", "None"))], view(1), False),
    "one of two effects": ([piece(1, device("d", "None", "NoExecute"))], view(1), True),
    "another device": ([piece(1, device("e", "NoSchedule"), CLEAN)], view(1), False),
    "clean in a slice of another generation": (
        [piece(1, TAINTED), piece(2, CLEAN, uid="t")],
        view(2),
        False,
    ),
    "withdrawn since": ([piece(1, CLEAN), piece(3, CLEAN, gone=True)], view(4), True),
    "a rule for the device": (
        [piece(1, CLEAN), rule(2, {"device": "d"})],
        view(1, 2),
        True,
    ),
    "a rule for all": ([piece(1, CLEAN), rule(2, {})], view(1, 2), True),
    "a rule for none": ([piece(1, CLEAN), rule(2, None)], view(1, 2), False),
    "a rule for another pool": (
        [piece(1, CLEAN), rule(2, {"pool": "q", "driver": DRIVER})],
        view(1, 2),
        False,
    ),
    "a rule that may not have been seen": ([piece(1, CLEAN), rule(4, {})], view(1, 2), False),
    "a rule without effect": ([piece(1, CLEAN), rule(2, {}, "None")], view(1, 2), False),
    "a rule that went": (
        [piece(1, CLEAN), rule(2, {}), rule(6, {}, gone=True)],
        view(1, 3),
        False,
    ),
    "two rules, the first of which came back after the second": (
        [
            piece(1, CLEAN),
            rule(2, {}),
            rule(3, {}, gone=True),
            rule(3, {}, name="s"),
            rule(6, {}, gone=True, name="s"),
            rule(6, {}),
        ],
        view(1, 3),
        True,
    ),
    "a rule that changed": (
        [piece(1, CLEAN), rule(2, {}), rule(6, {"device": "d"}, "NoExecute")],
        view(1, 3),
        True,
    ),
}


@pytest.mark.parametrize(("body", "seen", "is_wrong"), CASES.values(), ids=CASES)
def test_an_allocation_is_wrong_if_no_version_that_may_have_been_seen_allows_it(
    body: list[records.Body], seen: attempt_views.View, is_wrong: bool
) -> None:
    result = judge([*body, claim(7), ALLOCATED], seen)
    assert result.examined_count == 1
    assert (result.verdict, result.violation_count) == (INVALID if is_wrong else VALID, is_wrong)
    if is_wrong:
        assert "claim c was allocated gpu.example/p/d, which was tainted" in result.reason
        assert result.violations[0].resource_versions == [seen.slices, 9]


@pytest.mark.parametrize("seen", [None, view(0)])
def test_what_the_scheduler_knew_has_to_be_known(seen: attempt_views.View | None) -> None:
    result = judge([piece(1, TAINTED), claim(7), ALLOCATED], seen)
    assert (result.verdict, result.examined_count) == (UNKNOWN, 0)


def test_a_claim_with_tolerations_is_not_examined() -> None:
    tolerant = claim(7, tolerations=[{"operator": "Exists"}])
    result = judge([piece(1, TAINTED), tolerant, ALLOCATED], view(1))
    assert (result.verdict, result.examined_count) == (UNKNOWN, 0)


@pytest.mark.parametrize("resource", ["resourceslices", "devicetaintrules"])
def test_a_gap_may_hide_a_version_without_the_taint(resource: str) -> None:
    gap = records.Gap(resource=resource, after_resource_version=3, reason="410", ts_ns=4)
    result = judge([piece(1, TAINTED), gap, claim(7), ALLOCATED], view(1))
    assert (result.verdict, result.violation_count) == (UNKNOWN, 0)


# ------------------------------------------------------------------- the record alone


@pytest.mark.parametrize(
    ("body", "is_wrong"),
    [
        ([piece(1, CLEAN), piece(3, TAINTED), claim(14), claim(15, allocated="d")], True),
        ([piece(1, CLEAN), rule(3, {}), claim(14), claim(15, allocated="d")], True),
        ([piece(1, CLEAN), piece(3, TAINTED), claim(12), claim(15, allocated="d")], False),
        ([piece(1, CLEAN), claim(2), piece(3, TAINTED), claim(62, allocated="d")], False),
        ([piece(1, CLEAN), claim(2), piece(3, TAINTED), claim(64, allocated="d")], True),
        (
            [
                piece(1, CLEAN),
                piece(3, TAINTED),
                claim(14),
                piece(16, CLEAN),
                claim(17, allocated="d"),
            ],
            False,
        ),
        ([piece(1, device("e", "NoSchedule")), claim(14), claim(15, allocated="d")], False),
    ],
    ids=[
        "created 11 s after the taint",
        "created 11 s after the rule",
        "created 9 s after it",
        "allocated 59 s after it",
        "allocated 61 s after it",
        "untainted in the meantime",
        "no slice lists the device",
    ],
)
def test_what_any_scheduler_must_have_seen(body: list[Any], is_wrong: bool) -> None:
    result = taint_events.judge_record(body)
    assert result.examined_count == 1
    assert result.verdict is (INVALID if is_wrong else VALID)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ([piece(1, CLEAN), claim(20), claim(30, allocated="d")], "no device was tainted"),
        (
            [piece(1, TAINTED), claim(2), claim(3, allocated="d")],
            "all allocations were made before the scheduler must have seen the taints",
        ),
        (
            [
                piece(1, TAINTED),
                claim(14, tolerations=[{"operator": "Exists"}]),
                claim(15, allocated="d"),
            ],
            "all allocations were made before the scheduler must have seen the taints",
        ),
    ],
)
def test_without_steps_it_may_not_be_examined(body: list[Any], why: str) -> None:
    result = taint_events.judge_record(body)
    assert isinstance(result, verdicts.NotExamined)
    assert result.reason == why


def test_the_record_is_asked_where_slices_are_observed_and_no_fault_disturbs() -> None:
    observed = msgspec.structs.replace(building.plan(), resources=["resourceslices"])
    assert tainted_devices.applies(observed)
    assert not tainted_devices.needs_views(observed)
    faulty = msgspec.structs.replace(observed, faults=[object()])  # type: ignore[list-item]
    assert not tainted_devices.applies(faulty)


# ------------------------------------------------------------------- views

HANDLED = "slice-tracker.handled"


def views(folder: pathlib.Path, *steps: tuple[str, Object]) -> dict[str, attempt_views.View]:
    directory = building.build(folder, "a+D1")
    path = directory.steps("views")
    plan = histories.load(directory.path).plan
    writer = journal_writer.Writer(path, process="views", run_id=plan.run_id)
    for number, (name, fields) in enumerate(steps):
        at = language.at(number)
        writer.write(records.Step(seq=number, name=name, fields=fields, thread="t", ts_ns=at))
    writer.close()
    return attempt_views.read(histories.load(directory.path), "views")


STARTED: tuple[str, Object] = ("scheduling.started", {"pod": "p"})
PLANNED: tuple[str, Object] = ("in-flight.added", {"claim": "c", "device": "d"})


def handled(what: str, version: int) -> tuple[str, Object]:
    return HANDLED, {"of": what, "version": version}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([STARTED, PLANNED], view(0, 0)),
        ([handled("slices", 3), STARTED, PLANNED], view(3, 0)),
        ([handled("slices", 3), handled("rules", 5), STARTED, PLANNED], view(3, 5)),
        ([handled("slices", 3), STARTED, handled("slices", 7), PLANNED], view(3, 0)),
        (
            [handled("slices", 3), STARTED, PLANNED, handled("slices", 7), STARTED, PLANNED],
            view(3, 0),
        ),
        (
            [
                handled("slices", 3),
                handled("rules", 4),
                ("informer.gap", {"informer": "informer-resourceslices"}),
                STARTED,
                PLANNED,
            ],
            view(0, 4),
        ),
        (
            [
                handled("slices", 3),
                ("informer.listed", {"informer": "informer-pods", "count": 1}),
                STARTED,
                PLANNED,
            ],
            view(3, 0),
        ),
    ],
)
def test_what_an_attempt_must_have_known(
    tmp_path: pathlib.Path, steps: list[tuple[str, Object]], expected: attempt_views.View
) -> None:
    """Events count that were dealt with before it began; of several attempts, the oldest view."""
    assert views(tmp_path / "run", *steps) == {"c": expected}


@pytest.mark.parametrize(
    "strange",
    [
        (HANDLED, {"of": "nodes", "version": 3}),
        (HANDLED, {"of": [], "version": 3}),
        (HANDLED, {"of": "slices", "version": "x"}),
        (HANDLED, {"of": "slices", "version": None}),
        (HANDLED, {"of": "slices"}),
        ("informer.gap", {}),
        ("informer.gap", {"informer": {}}),
    ],
)
def test_steps_of_another_form_tell_nothing(
    tmp_path: pathlib.Path, strange: tuple[str, Object]
) -> None:
    """Without a view nothing is judged: an unknown one would excuse everything."""
    assert views(tmp_path / "run", STARTED, PLANNED, strange) == {}


# ------------------------------------------------------------------- plans


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"faults": True}, False),
        ({"expected_steps": ["claim-controller"]}, False),
    ],
)
def test_runs_that_owe_it(changes: Object, expected: bool) -> None:
    settings = loading.load("taints-come-and-go").scenario.model_dump(mode="json")
    plan = msgspec.structs.replace(building.plan(), settings=settings, expected_steps=["scheduler"])
    assert tainted_devices.applies(plan)
    if changes.pop("faults", False):
        changes["faults"] = [object()]
    assert tainted_devices.applies(msgspec.structs.replace(plan, **changes)) is expected
    assert not tainted_devices.applies(building.plan())
    settings["pools"]["changes"] = [{"kind": "publish"}]
    others = msgspec.structs.replace(
        building.plan(), settings=settings, expected_steps=["scheduler"]
    )
    assert not tainted_devices.applies(others)


def test_of_two_views_the_older_versions_count() -> None:
    assert view(3, 5).older(view(4, 2)) == view(4, 2).older(view(3, 5)) == view(3, 2)


def test_a_claim_of_which_one_request_tolerates_taints_is_not_examined() -> None:
    other = {"name": "q", "exactly": {}}
    body = [piece(1, TAINTED), claim(2, tolerations=[{"operator": "Exists"}], others=[other])]
    assert judge([*body, claim(9, allocated="d")], view(1)).verdict is UNKNOWN
    assert (
        judge([piece(1, TAINTED), claim(2, others=[other]), ALLOCATED], view(1)).verdict is INVALID
    )


def test_a_violation_says_what_the_scheduler_had_seen() -> None:
    of_slice = judge([piece(1, TAINTED), ALLOCATED], view(1)).violations[0].text
    assert "versions of the slices from then on, up to the allocation" in of_slice
    of_rule = judge([piece(1, CLEAN), rule(2, {}), ALLOCATED], view(1, 2)).violations[0].text
    assert "from then on, those of the rules from 2 on, up to the allocation" in of_rule

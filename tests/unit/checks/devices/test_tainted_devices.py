"""Devices that were allocated although the scheduler must have known that they were tainted."""

import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from harness.checks import protocol, verdicts
from harness.checks.devices import device_timelines
from harness.history import histories, journal_writer, records
from tests.histories import building, language
from tests.support import text_tables
from tests.unit.checks.devices import taint_events

INVALID, UNKNOWN, VALID = taint_events.INVALID, taint_events.UNKNOWN, taint_events.VALID
claim, device, judge = taint_events.claim, taint_events.device, taint_events.judge
piece, rule, view = taint_events.piece, taint_events.rule, taint_events.view

Object = dict[str, Any]
CLEAN, TAINTED, OTHER = device("d"), device("d", "NoSchedule"), device("e", "NoSchedule")
TOLERATED = [{"operator": "Exists"}]
ALLOCATED = claim(9, allocated="d")
WORDS: dict[str, Callable[[int], Any]] = {
    "clean": lambda at: piece(at, CLEAN),
    "tainted": lambda at: piece(at, TAINTED),
    "harmless": lambda at: piece(at, device("d", "None")),
    "two-effects": lambda at: piece(at, device("d", "None", "NoExecute")),
    "another-tainted": lambda at: piece(at, OTHER, CLEAN),
    "only-another": lambda at: piece(at, OTHER),
    "clean-elsewhere": lambda at: piece(at, CLEAN, uid="t"),
    "withdrawn": lambda at: piece(at, CLEAN, gone=True),
    "rule": lambda at: rule(at, {}),
    "rule-goes": lambda at: rule(at, {}, gone=True),
    "rule-s": lambda at: rule(at, {"device": "d"}, name="s"),
    "rule-s-goes": lambda at: rule(at, {}, gone=True, name="s"),
    "rule-for-d": lambda at: rule(at, {"device": "d"}),
    "rule-for-none": lambda at: rule(at, None),
    "rule-for-q": lambda at: rule(at, {"pool": "q", "driver": taint_events.DRIVER}),
    "rule-evicts-d": lambda at: rule(at, {"device": "d"}, "NoExecute"),
    "harmless-rule": lambda at: rule(at, {}, "None"),
    "claim": claim,
    "tolerant": lambda at: claim(at, tolerations=TOLERATED),
    "allocated": lambda at: claim(at, allocated="d"),
}


def cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "tainted_cases.txt", part)


@pytest.mark.parametrize(("text", "versions", "is_wrong"), cases("versions"))
def test_an_allocation_is_wrong_if_no_version_that_may_have_been_seen_allows_it(
    text: str, versions: str, is_wrong: str
) -> None:
    seen = view(*map(int, versions.split()))
    result = judge(taint_events.history(f"{text} claim@7 allocated@9", WORDS), seen)
    assert result.examined_count == 1
    assert (result.verdict, result.violation_count) == (
        INVALID if is_wrong else VALID,
        bool(is_wrong),
    )
    if is_wrong:
        assert "claim c was allocated gpu.example/p/d, which was tainted" in result.reason
        assert result.violations[0].resource_versions == [seen.slices, 9]


@pytest.mark.parametrize("seen", [None, view(0)])
def test_what_the_scheduler_knew_has_to_be_known(seen: device_timelines.View | None) -> None:
    result = judge([piece(1, TAINTED), claim(7), ALLOCATED], seen)
    assert (result.verdict, result.examined_count) == (UNKNOWN, 0)


@pytest.mark.parametrize("resource", ["resourceslices", "devicetaintrules"])
def test_a_gap_may_hide_a_version_without_the_taint(resource: str) -> None:
    gap = language.gap(resource, 3, 4)
    result = judge([piece(1, TAINTED), gap, claim(7), ALLOCATED], view(1))
    assert (result.verdict, result.violation_count) == (UNKNOWN, 0)


# ------------------------------------------------------------------- the record alone


@pytest.mark.parametrize(("text", "is_wrong"), cases("seconds"))
def test_what_any_scheduler_must_have_seen(text: str, is_wrong: str) -> None:
    result = taint_events.judge_record(taint_events.history(text, WORDS))
    assert result.examined_count == 1
    assert result.verdict is (INVALID if is_wrong else VALID)


@pytest.mark.parametrize(("text", "why"), cases("not examined"))
def test_without_steps_it_may_not_be_examined(text: str, why: str) -> None:
    result = taint_events.judge_record(taint_events.history(text, WORDS))
    assert isinstance(result, verdicts.NotExamined)
    assert result.reason == why


# ------------------------------------------------------------------- views

HANDLED = "slice-tracker.handled"


def views(folder: pathlib.Path, *steps: tuple[str, Object]) -> dict[str, device_timelines.View]:
    directory = building.build(folder, "a+D1")
    path = directory.steps("scheduler")
    path.unlink()
    plan = histories.load(directory.path).plan
    writer = journal_writer.Writer(path, process="scheduler", run_id=plan.run_id)
    for number, (name, fields) in enumerate(steps):
        at = language.at(number)
        writer.write(records.Step(seq=number, name=name, fields=fields, thread="t", ts_ns=at))
    writer.close()
    evidence = protocol.Evidence(taint_events.TOLD, history=histories.load(directory.path))
    return device_timelines.AttemptViews.from_evidence(evidence)


STARTED: tuple[str, Object] = ("scheduling.started", {"pod": "p"})
PLANNED: tuple[str, Object] = ("in-flight.added", {"claim": "c", "device": "d"})


STEPS: dict[str, Callable[[int], tuple[str, Object]]] = {
    "slices": lambda version: (HANDLED, {"of": "slices", "version": version}),
    "rules": lambda version: (HANDLED, {"of": "rules", "version": version}),
    "gap": lambda _: ("informer.gap", {"informer": "informer-resourceslices"}),
    "pods": lambda _: ("informer.listed", {"informer": "informer-pods", "count": 1}),
    "started": lambda _: STARTED,
    "planned": lambda _: PLANNED,
}


@pytest.mark.parametrize(("text", "expected"), cases("views"))
def test_what_an_attempt_must_have_known(tmp_path: pathlib.Path, text: str, expected: str) -> None:
    words = [word.partition("@") for word in text.split()]
    steps = [STEPS[name](int(version or 0)) for name, _, version in words]
    assert views(tmp_path / "run", *steps) == {"c": view(*map(int, expected.split()))}


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


def test_a_claim_of_which_one_request_tolerates_taints_is_not_examined() -> None:
    other = {"name": "q", "exactly": {}}
    body = [piece(1, TAINTED), claim(2, tolerations=TOLERATED, others=[other])]
    assert judge([*body, claim(9, allocated="d")], view(1)).verdict is UNKNOWN
    assert (
        judge([piece(1, TAINTED), claim(2, others=[other]), ALLOCATED], view(1)).verdict is INVALID
    )


def test_a_violation_says_what_the_scheduler_had_seen() -> None:
    of_slice = judge([piece(1, TAINTED), ALLOCATED], view(1)).violations[0].text
    assert "versions of the slices from then on, up to the allocation" in of_slice
    of_rule = judge([piece(1, CLEAN), rule(2, {}), ALLOCATED], view(1, 2)).violations[0].text
    assert "from then on, those of the rules from 2 on, up to the allocation" in of_rule

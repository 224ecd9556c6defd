"""Switching known defects on, by name."""

import pytest

from harness import errors
from harness.extensions import replacements
from harness.subject import assembling, defects
from harness.subject.plugin import claim_binding
from harness.subject.scheduling import schedulers
from harness.subject.tracking import gathering


def test_without_defects_the_parts_are_the_correct_ones() -> None:
    assert assembling.parts(()) == schedulers.SchedulerParts()


@pytest.mark.parametrize("name", defects.CATALOGUE.names("scheduler"))
def test_a_defect_replaces_one_part_by_a_kind_of_it(name: str) -> None:
    correct, replaced = schedulers.SchedulerParts(), assembling.parts([name])
    changed = [
        part for part in correct.__slots__ if getattr(correct, part) is not getattr(replaced, part)
    ]
    assert len(changed) == 1
    assert issubclass(getattr(replaced, changed[0]), getattr(correct, changed[0]))


@pytest.mark.parametrize("name", defects.CATALOGUE.names("scheduler"))
def test_a_defect_says_what_is_wrong(name: str) -> None:
    assert len(defects.CATALOGUE.describe(name).split()) > 10


@pytest.mark.parametrize("ask", [defects.CATALOGUE.describe, lambda name: assembling.parts([name])])
def test_an_unknown_name_is_answered_with_the_known_ones(ask: object) -> None:
    with pytest.raises(errors.UsageError, match=r"got 'gather-atomic'.*gather-not-atomic"):
        ask("gather-atomic")  # type: ignore[operator]


def test_defects_of_different_parts_combine() -> None:
    parts = assembling.parts(["in-flight-removed-first", "gather-not-atomic"])
    assert parts.claim_binder is not claim_binding.ClaimBinder
    assert parts.gatherer is not gathering.Gatherer
    assert parts.allocated is schedulers.SchedulerParts().allocated


def test_defects_of_one_part_combine_in_one_class() -> None:
    alone = [
        assembling.parts([name]).gatherer
        for name in ("gather-not-atomic", "revision-compared-early")
    ]
    both = assembling.parts(["gather-not-atomic", "revision-compared-early"]).gatherer
    assert all(issubclass(both, one) for one in alone)


def test_two_that_override_the_same_method_are_refused() -> None:
    class Also(gathering.Gatherer):
        def _is_current(self, revision: int) -> bool:
            return bool(revision)

    other = replacements.Replacement("gatherer", Also, schedulers.SchedulerParts, "scheduler")
    chosen = defects.CATALOGUE.chosen(["gather-not-atomic"]) | {"also": other}
    with pytest.raises(errors.UsageError, match="gather-not-atomic and also both override _is_cur"):
        replacements.replaced(schedulers.SchedulerParts(), chosen)


def test_a_name_given_twice_counts_once() -> None:
    once = assembling.parts(["gather-not-atomic"])
    assert assembling.parts(["gather-not-atomic", "gather-not-atomic"]) == once

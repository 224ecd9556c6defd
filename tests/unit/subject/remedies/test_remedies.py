"""Giving scheduler and claim controller remedies, by name, alone and together with defects."""

from typing import Any

import pytest

from harness import errors
from harness.subject import assembling, defects, remedies
from harness.subject.claim_control import claim_controllers
from harness.subject.scheduling import schedulers

HYPOTHESES = {
    "keep-in-flight-until-known": "H1",
    "compare-devices-on-update": "H2",
    "fence-predecessor": "H3 and H18",
    "derive-claim-names": "H8",
    "bind-again-until-known": "H11",
    "ask-again-for-unseen-pods": "H9",
    "try-again-after-post-filter": "H12 and H15",
    "find-claims-by-reservation": "H13",
    "await-created-claims": "H14",
    "restore-only-unwritten": "H21",
}


@pytest.mark.parametrize("name", remedies.CATALOGUE.names())
def test_a_remedy_replaces_one_part_by_a_kind_of_it(name: str) -> None:
    pairs: list[tuple[Any, Any]] = [
        (schedulers.SchedulerParts(), assembling.parts((), [name])),
        (claim_controllers.ControllerParts(), assembling.claim_controller_parts((), [name])),
    ]
    changed = [
        (getattr(correct, part), getattr(replaced, part))
        for correct, replaced in pairs
        for part in correct.__slots__
        if getattr(correct, part) is not getattr(replaced, part)
    ]
    ((correct_kind, kind),) = changed
    assert issubclass(kind, correct_kind)


def test_each_remedy_is_for_one_part() -> None:
    of_scheduler = remedies.CATALOGUE.of_process(remedies.CATALOGUE.names(), "scheduler")
    of_controller = [
        "ask-again-for-unseen-pods",
        "await-created-claims",
        "derive-claim-names",
        "find-claims-by-reservation",
    ]
    assert (
        remedies.CATALOGUE.of_process(remedies.CATALOGUE.names(), "claim-controller")
        == of_controller
    )
    assert {*of_scheduler, *of_controller} == set(remedies.CATALOGUE.names())
    remedies.CATALOGUE.require_process(of_scheduler, "scheduler")
    with pytest.raises(errors.UsageError, match="expected a remedy of the claim-controller, got"):
        remedies.CATALOGUE.require_process(of_scheduler, "claim-controller")


@pytest.mark.parametrize("name", remedies.CATALOGUE.names())
def test_a_remedy_says_what_upstream_could_do_and_what_is_left(name: str) -> None:
    described = remedies.CATALOGUE.describe(name)
    assert f"Hypothes{'e' if ' and H' in described else 'i'}s" in described
    assert HYPOTHESES[name] in described
    for part in ("Upstream could do this", "Why it is enough", "Not covered", ".go"):
        assert part in described


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(errors.UsageError, match=r"Known remedies: .*Did you mean 'fence-pre"):
        assembling.parts((), ["fence-predecesor"])


def test_all_remedies_combine_with_each_other_and_with_the_defects_of_other_methods() -> None:
    parts = assembling.parts(["in-flight-removed-first"], remedies.CATALOGUE.names())
    for kind in (
        defects.CATALOGUE.named("in-flight-removed-first").replacement,
        remedies.CATALOGUE.named("keep-in-flight-until-known").replacement,
    ):
        assert issubclass(parts.claim_binder, kind)


def test_every_defect_combines_with_every_remedy() -> None:
    for defect in defects.CATALOGUE.names("scheduler"):
        for remedy in remedies.CATALOGUE.names():
            assembling.parts([defect], [remedy])

"""Switching known defects, remedies and releases on, by name, alone and together."""

import importlib.resources
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from harness import errors
from harness.cluster.dra import defects as defects_of_kubelets
from harness.cluster.dra import kubelet_defects
from harness.extensions import replacements
from harness.subject import assembling, defects, releases, remedies
from harness.subject.claim_control import claim_controllers
from harness.subject.scheduling import schedulers
from harness.subject.tracking import gathering

CORRECT: tuple[Any, Any] = (schedulers.SchedulerParts(), claim_controllers.ControllerParts())
CATALOGUES = {
    (defects.__name__, "defects"): defects.CATALOGUE,
    (remedies.__name__, "remedies"): remedies.CATALOGUE,
    (releases.__name__, "differences"): releases.DIFFERENCES,
    (defects_of_kubelets.__name__, "defects"): kubelet_defects.CATALOGUE,
}


def changed(**chosen: Any) -> Mapping[str, tuple[type, type]]:
    """The correct and the replacing class of each part that is not the correct one."""
    made = assembling.parts(**chosen), assembling.claim_controller_parts(**chosen)
    return {
        part: (getattr(correct, part), getattr(now, part))
        for correct, now in zip(CORRECT, made, strict=True)
        for part in correct.__slots__
        if getattr(correct, part) is not getattr(now, part)
    }


def test_switches_replace_parts_by_kinds_of_them() -> None:
    assert changed() == {}
    for chosen in (
        *({"chosen_defects": [name]} for name in defects.CATALOGUE.names()),
        *({"chosen_remedies": [name]} for name in remedies.CATALOGUE.names()),
        *({"release": name} for name in releases.names()),
    ):
        pairs = changed(**chosen)  # type: ignore[arg-type]
        assert pairs, chosen
        assert all(issubclass(now, correct) for correct, now in pairs.values()), chosen


def test_every_switch_has_a_row_that_says_what_it_does_and_every_row_a_switch() -> None:
    for (package, plural), catalogue in CATALOGUES.items():
        text = importlib.resources.files(package).joinpath(f"{plural}.toml").read_text()
        assert set(tomllib.loads(text)) == set(catalogue.names())
        for name in catalogue.names():
            assert len(catalogue.named(name).description.split()) > 5, name


def test_the_switches_of_releases() -> None:
    known = {*defects.CATALOGUE.names(), *releases.DIFFERENCES.names()}
    used = set[str]().union(*releases.SWITCHES.values())
    assert set(releases.DIFFERENCES.names()) <= used <= known
    of_controller = set(claim_controllers.ControllerParts.__slots__)
    newest = {"evictor", "pod_syncer", "generator", "created"}
    assert changed(release="1.36.2").keys() & of_controller == newest
    assert changed(release="1.34.2").keys() & of_controller == newest | {"enqueuer", "releaser"}


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"chosen_defects": ["gather-atomic"]}, r"got 'gather-atomic'.*gather-not-atomic"),
        ({"chosen_remedies": ["fence-predecesor"]}, r"remedies: .*Did you mean 'fence-predecessor"),
        ({"release": "1.35.2"}, r"got '1\.35\.2'. Known releases: 1\.34\.2, 1\.36\.2"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(
    chosen: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.UsageError, match=words):
        changed(**chosen)


def test_switches_of_different_methods_combine() -> None:
    both = ["gather-not-atomic", "revision-compared-early"]
    for name in both:
        assert issubclass(assembling.parts(both).gatherer, assembling.parts([name]).gatherer)
    every = remedies.CATALOGUE.names()
    binder = assembling.parts(["in-flight-removed-first"], every).claim_binder
    assert issubclass(binder, assembling.parts(["in-flight-removed-first"]).claim_binder)
    assert issubclass(binder, assembling.parts((), ["keep-in-flight-until-known"]).claim_binder)
    for defect in defects.CATALOGUE.names("scheduler"):
        for remedy in every:
            assembling.parts([defect], [remedy])


def test_defects_of_the_search_and_of_what_it_holds_combine() -> None:
    together = ["distinct-by-request", "intersection-stays-narrow", "admin-access-charged"]
    assert set(changed(chosen_defects=together)) == {"search", "held"}


def test_two_that_override_the_same_method_are_refused() -> None:
    class Also(gathering.Gatherer):
        def _is_current(self, revision: int) -> bool:
            return bool(revision)

    other = replacements.Replacement(
        {"gatherer": Also}, schedulers.SchedulerParts, "scheduler", replacements.Facts()
    )
    chosen = defects.CATALOGUE.chosen(["gather-not-atomic"]) | {"also": other}
    with pytest.raises(errors.UsageError, match="gather-not-atomic and also both override _is_cur"):
        replacements.replaced(schedulers.SchedulerParts(), chosen)


def test_a_defect_that_a_release_has_changes_nothing_more() -> None:
    alone = changed(release="1.34.2")["gatherer"]
    assert changed(release="1.34.2", chosen_defects=["gather-not-atomic"])["gatherer"] == alone


def test_each_remedy_is_for_one_process() -> None:
    of_scheduler = remedies.CATALOGUE.of_process(remedies.CATALOGUE.names(), "scheduler")
    assert len(of_scheduler) == 6
    remedies.CATALOGUE.require_process(of_scheduler, "scheduler")
    with pytest.raises(errors.UsageError, match="expected a remedy of the claim-controller, got"):
        remedies.CATALOGUE.require_process(of_scheduler, "claim-controller")

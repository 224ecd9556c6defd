"""Choosing a release of Kubernetes for the claim controller."""

import pytest

from harness import errors
from harness.subject import assembling, defects, releases
from harness.subject.claim_control import claim_controllers, feature_gates

CORRECT = claim_controllers.ControllerParts()


def changed(release: str | None) -> set[str]:
    parts = assembling.claim_controller_parts(release=release)
    return {
        name for name in CORRECT.__slots__ if getattr(parts, name) is not getattr(CORRECT, name)
    }


def test_without_a_release_the_parts_are_the_correct_ones() -> None:
    assert assembling.claim_controller_parts() == CORRECT


def test_releases_change_these_parts() -> None:
    newest = {"evictor", "pod_syncer", "generator"}
    assert changed("1.37") == newest
    for release in ("1.36.2", "1.36.3"):
        assert changed(release) == newest | {"created"}
    for release in ("1.34.2", "1.34.9", "1.35.6"):
        assert changed(release) == newest | {"created", "enqueuer", "releaser"}


@pytest.mark.parametrize("release", releases.names())
def test_a_part_of_a_release_is_a_kind_of_the_correct_one(release: str) -> None:
    parts = assembling.claim_controller_parts(release=release)
    for name in changed(release):
        assert issubclass(getattr(parts, name), getattr(CORRECT, name))


def test_an_older_release_has_what_the_newer_one_has() -> None:
    named = {
        release: {
            item.replacement
            for item in releases.replacements_of(release).values()
            if item.process == "claim-controller"
        }
        for release in releases.names()
    }
    assert named["1.34.2"] >= named["1.36.2"]


@pytest.mark.parametrize("name", releases.DIFFERENCES.names())
def test_each_difference_says_what_the_release_does(name: str) -> None:
    assert len(releases.DIFFERENCES.named(name).description.split()) > 10


def test_a_difference_has_the_code_of_the_defects_that_it_stands_for() -> None:
    for name in releases.DIFFERENCES.names():
        item = releases.DIFFERENCES.named(name)
        known = [defects.CATALOGUE.named(defect) for defect in item.facts.instead_of]
        assert {defect.part for defect in known} <= {item.part}


def test_an_unknown_release_is_answered_with_the_known_ones() -> None:
    with pytest.raises(errors.UsageError, match=r"got '1\.35\.2'.*1\.34\.2, 1\.34\.9, 1\.35\.6"):
        assembling.claim_controller_parts(release="1.35.2")


def test_a_defect_of_the_scheduler_leaves_the_controller_alone() -> None:
    assert assembling.claim_controller_parts(["gather-not-atomic"]) == CORRECT


@pytest.mark.parametrize("text", ["DRAAdmin=false", "DRAAdminAccess", "DRAAdminAccess=off", "x"])
def test_wrong_feature_gates_are_answered_with_the_known_ones(text: str) -> None:
    with pytest.raises(errors.UsageError, match="Known gates: DRAAdminAccess, DRAPrioritizedList"):
        feature_gates.parse(text)


def test_feature_gates_are_on_unless_they_are_switched_off() -> None:
    assert feature_gates.parse("") == feature_gates.DEFAULTS
    assert feature_gates.parse("DRAAdminAccess=False,DRAPrioritizedList=true") == {
        "DRAAdminAccess": False,
        "DRAPrioritizedList": True,
    }

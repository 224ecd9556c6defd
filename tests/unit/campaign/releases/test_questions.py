"""The questions to every release."""

import functools

import pytest

from harness import errors
from harness.campaign.releases import programs, questions
from harness.scenario import hazards, loading

every = functools.cache(questions.every)


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call loads all scenarios that are shipped."""
    monkeypatch.setattr(questions, "every", every)


def test_every_finding_is_asked_about_or_has_a_reason() -> None:
    asked = {item.finding for item in questions.every()}
    left = {item.finding: item.reason for item in questions.left_out()}
    assert not asked & left.keys()
    assert hazards.pages().keys() <= asked | left.keys()
    assert all(left.values())


def test_every_script_and_every_regression_is_asked_of_its_program() -> None:
    asked = {item.scenario for item in questions.every()}
    of_api_server = {"h20-finalizer-overlooked"}  # asked by its load
    assert set(loading.script_names()) - asked == of_api_server
    ours = {"device-statuses", "evicted-by-old-client", "forced-deletion"}  # of other programs
    assert set(loading.regress_names()) - asked == ours


def test_a_scenario_is_asked_once_of_a_program() -> None:
    every = [(item.scenario, item.program) for item in questions.every()]
    assert len(every) == len(set(every))


def test_the_program_is_the_one_that_has_the_finding() -> None:
    of = {item.finding: item.program for item in questions.every()}
    assert of["H1"] == programs.SCHEDULER
    assert of["H20"] == programs.API_SERVER
    assert of["kubernetes#141274"] == programs.CONTROLLER
    assert of["small-mutation-cache"] == programs.CONTROLLER


@pytest.mark.parametrize(
    "name", ["H1", "h1", "h01-lost-answer", "The answer to an allocation is lost"]
)
def test_a_finding_is_chosen_by_any_of_its_names(name: str) -> None:
    assert {item.finding for item in questions.chosen([name])} == {"H1"}


def test_groups_are_chosen_too() -> None:
    found = questions.chosen(["race"])
    assert [item.scenario for item in found] == ["uses-all-resources", "pod-churn"]


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        errors.UsageError, match="expected a finding, a scenario, or one of the gro"
    ):
        questions.chosen(["H99"])


def test_a_finding_that_no_release_can_be_asked_about_is_refused_with_the_reason() -> None:
    with pytest.raises(errors.UsageError, match="no release can be asked about H5: refuted"):
        questions.chosen(["H5"])

"""Every mistake in a scenario file is named with its path, before anything is run."""

import pathlib

import pytest

from harness import errors
from tests.support import cases
from tests.unit.scenario import scenario_files


def refusal(folder: pathlib.Path, text: str, *overrides: str) -> str:
    with pytest.raises(errors.ScenarioError) as caught:
        scenario_files.load(folder, text, *overrides)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize(("base", "change", "part"), cases.read(__file__, "mistakes"))
def test_a_mistake_is_named(tmp_path: pathlib.Path, base: str, change: str, part: str) -> None:
    said = refusal(tmp_path, scenario_files.changed(base, change))
    assert "mine.toml: 1 mistake in the scenario\n" in said
    assert part in said.splitlines()[1]


@pytest.mark.parametrize(
    ("base", "change", "overrides", "part"), cases.read(__file__, "impossible")
)
def test_what_no_cluster_can_satisfy_is_refused(
    tmp_path: pathlib.Path, base: str, change: str, overrides: list[str], part: str
) -> None:
    said = refusal(tmp_path, scenario_files.changed(base, change), *overrides)
    assert f"expected a scenario that can be satisfied\n  {part}" in said


@pytest.mark.parametrize(("base", "change", "overrides"), cases.read(__file__, "possible"))
def test_what_may_work_is_loaded_and_survives_its_plan(
    tmp_path: pathlib.Path, base: str, change: str, overrides: list[str]
) -> None:
    text = scenario_files.changed(base, change)
    scenario = scenario_files.load(tmp_path, text, *overrides).scenario
    assert type(scenario).model_validate(scenario.model_dump(mode="json")) == scenario


@pytest.mark.parametrize(("override", "meant"), cases.read(__file__, "misspelt"))
def test_a_misspelt_key_comes_with_the_one_that_was_meant(
    tmp_path: pathlib.Path, override: str, meant: str
) -> None:
    said = refusal(tmp_path, scenario_files.CHURN, override)
    assert f"Did you mean '{meant}'" in said
    assert f"  {override.partition('=')[0].split('.')[0]}" in said


def test_a_key_like_no_other_is_only_refused(tmp_path: pathlib.Path) -> None:
    said = refusal(tmp_path, scenario_files.CHURN, "zzz=1")
    assert ("Remove it or correct" in said, "Did you mean" in said) == (True, False)


def test_all_mistakes_are_told_at_once(tmp_path: pathlib.Path) -> None:
    text = scenario_files.changed("churn", "users = 4 => usres = 4")
    said = refusal(tmp_path, text.replace("allocations_min = 1", ""))
    assert "2 mistakes in the scenario" in said


@pytest.mark.parametrize(("option", "part"), cases.read(__file__, "thresholds"))
def test_a_threshold_that_is_none(tmp_path: pathlib.Path, option: str, part: str) -> None:
    with pytest.raises(errors.UsageError) as caught:
        scenario_files.load(tmp_path, scenario_files.CHURN, given_thresholds=[option])
    assert part in str(caught.value)

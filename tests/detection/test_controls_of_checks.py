"""Each check has what proves it: a known defect that it catches, and a golden run."""

import pathlib

import pytest

from harness.checks import check_registry
from harness.scenario import loading
from tests.support import cases, golden_runs

ROOT = pathlib.Path(__file__).parents[2]
NAMES = [check.name for check in check_registry.CHECKS]
CAUGHT = cases.read(__file__, "caught")
OTHERWISE = cases.read(__file__, "otherwise")


def test_each_check_has_a_control() -> None:
    assert sorted([*CAUGHT, *OTHERWISE]) == sorted(NAMES)


@pytest.mark.parametrize("check", CAUGHT)
def test_its_scenario_names_the_defect(check: str) -> None:
    scenario, defect = CAUGHT[check]
    assert defect in loading.load(scenario).scenario.controls


@pytest.mark.parametrize("check", NAMES)
def test_it_has_a_golden_run_that_is_invalid(check: str) -> None:
    assert list((golden_runs.FOLDER / check).glob("INVALID*"))

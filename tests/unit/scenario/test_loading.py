"""Scenario files: found, overridden, and what follows from their keys."""

import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.scenario import loading, possibility, traffic_specs
from tests.support import cases
from tests.unit.scenario import scenario_files

CHURN, AT_ONCE = scenario_files.CHURN, scenario_files.AT_ONCE
SHIPPED = loading.SHELF.names()
load = scenario_files.load

# ---------------------------------------------------------------- what is shipped


def test_the_group_of_regressions_stands_apart() -> None:
    """They are found by name, and only `regress` and their own names run them."""
    names = loading.SHELF.names(loading.REGRESS)
    assert "small-mutation-cache" in names
    assert not {*names} & {*SHIPPED, *loading.plain_hunt_names()}
    assert loading.expanded(["pod-churn", "regress"]) == ["pod-churn", *names]
    assert loading.expanded(["confirm"]) == loading.SHELF.names(loading.CONFIRM)
    assert set(loading.every_name()) == {*names, *SHIPPED}
    for scenario in (loading.load(name).scenario for name in names):
        assert (scenario.plain_hunt, bool(scenario.controls)) == (False, True), scenario.name


def test_every_shipped_scenario_loads_and_is_named_as_its_file() -> None:
    for name in loading.every_name():
        scenario = loading.load(name).scenario
        assert scenario.name == name
        assert scenario.title, name
        assert scenario.description.strip(), name


def test_the_example_of_the_documents_works(tmp_path: pathlib.Path) -> None:
    text = (pathlib.Path(__file__).parents[3] / "docs/how-to/write-a-scenario.md").read_text()
    example = text.partition("## Pools and claims")[2].partition("```toml\n")[2].partition("```")[0]
    scenario = load(tmp_path, CHURN + example).scenario
    assert [kind.name for kind in scenario.pools.more] == ["gpu", "nic"]


# ---------------------------------------------------------------- finding


def test_bytes_that_are_no_text(tmp_path: pathlib.Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(errors.ScenarioError, match=r"binary\.toml: expected a readable TOML file"):
        loading.load(str(tmp_path / "binary.toml"))


# ---------------------------------------------------------------- what follows

TIMES = "users = 4\nduration_s = {}\nduration_max_s = {}\nwait_s = {}\n[limits]\ntimeout_s = {}"


@pytest.mark.parametrize(
    ("times", "least"),
    [((5, 40, 10, 49.9), "50"), ((5, 120, 10, 60), "130"), ((90, 40, 10, 99), "100")],
)
def test_a_time_limit_that_would_end_the_load_first(
    tmp_path: pathlib.Path, times: tuple[float, ...], least: str
) -> None:
    text = CHURN.replace("users = 4", TIMES.format(*times))
    message = f"  limits.timeout_s: expected at least {least} .*--set limits.timeout_s={least}$"
    with pytest.raises(errors.ScenarioError, match=message):
        load(tmp_path, text)
    enough = load(tmp_path, text, f"limits.timeout_s={least}")
    assert enough.scenario.timeout_s == float(least)


def test_the_time_limit_grows_with_the_traffic(tmp_path: pathlib.Path) -> None:
    """The advice for a small machine is one option, and works by itself."""
    longer = load(tmp_path, CHURN, "traffic.duration_max_s=1200").scenario
    assert longer.timeout_s > 1200 + longer.traffic.wait_s


@pytest.mark.parametrize(
    ("overrides", "pods"),
    cases.read(__file__, "pods"),
)
def test_the_pods_that_can_run_at_once(
    tmp_path: pathlib.Path, overrides: list[str], pods: int
) -> None:
    scenario = load(tmp_path, AT_ONCE, *overrides).scenario
    assert isinstance(scenario.traffic, traffic_specs.AllAtOnceTraffic)
    assert possibility.pods_at_once(scenario, scenario.traffic) == pods


def test_kinds_of_claims_come_in_rounds(tmp_path: pathlib.Path) -> None:
    kinds = "[[claims]]\nweight = 2\n[[claims]]\ndevices = 2\n"
    scenario = load(tmp_path, AT_ONCE.replace("pods = 8", "pods = 2") + kinds).scenario
    assert [scenario.claim_kind(number) for number in range(7)] == [0, 0, 1, 0, 0, 1, 0]
    assert [kind.devices for kind in scenario.claim_kinds] == [1, 2]


# ---------------------------------------------------------------- overriding


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("traffic.users = 8", lambda s: s.traffic.users == 8),
        ("traffic.hold_s=0.5", lambda s: s.traffic.hold_s == 0.5),
        ("subject.start=after-traffic", lambda s: s.subject.start == "after-traffic"),
        ('subject.start="after-traffic"', lambda s: s.subject.start == "after-traffic"),
        ("subject.pauses.probability=0.5", lambda s: s.subject.pauses.probability == 0.5),
        ('title="a=b"', lambda s: s.title == "a=b"),
        ("claim.admin_access=true", lambda s: s.claim.admin_access is True),
        ('controls=["one"]', lambda s: s.controls == ["one"]),
    ],
)
def test_overrides(tmp_path: pathlib.Path, override: str, value: Callable[[Any], bool]) -> None:
    loaded = load(tmp_path, CHURN, override)
    assert value(loaded.scenario)
    assert loaded.text == CHURN, "the file's text stays as it is"


@pytest.mark.parametrize(
    ("override", "message"),
    cases.read(__file__, "no_override"),
)
def test_what_is_no_override(tmp_path: pathlib.Path, override: str, message: str) -> None:
    with pytest.raises(errors.UsageError, match=message):
        load(tmp_path, CHURN, override)

"""Scenario files: found, overridden, validated; every mistake is named with its path."""

import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.scenario import loading, possibility, traffic_specs

TEXT = """
schema_version = 1
name = "mine"
title = "a title"
description = "a description"
controls = []

[traffic]
profile = "churn"
users = 4

[load]
allocations_min = 1
pods_running_min = 0
"""
SHIPPED_FOLDER = loading.SHELF.folder()
SHIPPED = loading.SHELF.names()


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Callable[[str], str]:
    def write_one(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return str(path)

    return write_one


# ---------------------------------------------------------------- what is shipped


def test_the_group_of_regressions_stands_apart() -> None:
    """They are found by name, and only `regress` and their own names run them."""
    names = loading.SHELF.names(loading.REGRESS)
    assert "small-mutation-cache" in names
    assert not {*names} & {*loading.SHELF.names(), *loading.plain_hunt_names()}
    assert loading.expanded(["pod-churn", "regress"]) == ["pod-churn", *names]
    assert loading.expanded(["confirm"]) == loading.SHELF.names(loading.CONFIRM)
    assert set(loading.every_name()) == {*names, *loading.SHELF.names()}


@pytest.mark.parametrize("name", loading.SHELF.names(loading.REGRESS))
def test_a_regression_shows_known_defects(name: str) -> None:
    scenario = loading.load(name).scenario
    assert (scenario.name, scenario.plain_hunt) == (name, False)
    assert scenario.controls


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_scenario_loads_and_is_named_as_its_file(name: str) -> None:
    loaded = loading.load(name)
    assert loaded.scenario.name == name == loaded.path.stem
    assert loaded.text == loaded.path.read_text()
    assert loaded.scenario.title
    assert loaded.scenario.description.strip()


# ---------------------------------------------------------------- finding


def test_a_path_is_a_scenario_and_its_text_is_kept(write: Callable[[str], str]) -> None:
    loaded = loading.load(write(TEXT))
    assert loaded.text == TEXT
    assert loaded.scenario.traffic.profile == "churn"
    assert loaded.scenario.traffic.users == 4


@pytest.mark.parametrize(
    "name", ["no-such-scenario", "/no/such/file.toml", "../scenarios/pod-churn", ""]
)
def test_unknown_names_come_with_the_known_ones(name: str) -> None:
    """With the nearest, or with the first of them: sixty names would help little."""
    with pytest.raises(errors.ScenarioError) as caught:
        loading.load(name)
    message = str(caught.value)
    assert f"got {name!r}" in message
    assert 1 <= sum(shipped in message for shipped in SHIPPED) <= 16
    assert f"{SHIPPED_FOLDER} lists" in message


def test_what_is_no_toml(write: Callable[[str], str], tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.ScenarioError, match=r"mine\.toml: expected TOML"):
        loading.load(write("a = ["))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(
        errors.ScenarioError, match=r"binary\.toml: expected a TOML file, got bytes"
    ):
        loading.load(str(tmp_path / "binary.toml"))


# ---------------------------------------------------------------- validating


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (("users = 4", "usres = 4"), "traffic.usres: unknown key (value 4)"),
        (("[load]", "[load]\nextra = true"), "load.extra: unknown key (value True)"),
        (("users = 4", 'workers = "remote"'), "traffic.workers: no key any more. Remove it: all"),
        (("[load]", "[[subject.schedulers]]\nkind = 'kube-scheduler'\nqps = 9\n[load]"), "subject.schedulers.0.qps: no key any more. Remove it: it is always"),
        (("controls = []", "control = []"), "control: unknown key (value [])"),
        (("users = 4", 'users = "many"'), "traffic.users: expected a valid integer, got 'many'"),
        (("users = 4", 'users = "4"'), "traffic.users: expected a valid integer, got '4'"),
        (("users = 4", "users = 0"), "traffic.users: expected at least 1, got 0"),
        (("users = 4", "users = 1000000000000"), "traffic.users: expected at most 20000, got"),
        (("users = 4", "processes = 100000"), "traffic.processes: expected at most 1024, got"),
        (("users = 4", "hold_s = nan"), "traffic.hold_s: expected at most 86400, got nan"),
        (("users = 4", "duration_s = -1"), "traffic.duration_s: "),
        (("allocations_min = 1", ""), "load.allocations_min: expected a value, got none"),
        (('name = "mine"', ""), "name: expected a value, got none"),
        (('name = "mine"', 'name = "Not A Name"'), "name: "),
        (("schema_version = 1", "schema_version = 2"), "schema_version: "),
        (("schema_version = 1", ""), "schema_version: expected a value"),
        (('profile = "churn"', 'profile = "chrun"'), "traffic.profile: expected one of 'all-at-once', 'churn', 'shared', 'limit', 'objects', 'script', got 'chrun'. Did you mean 'churn'?"),
        (('profile = "churn"', ""), "traffic.profile: expected a value, got none"),
        (("[load]", "[pools]\nnodes = 1000000000\n[load]"), "pools.nodes: expected at most 5000, got 1000000000"),
        (("[load]", "[pools]\nattributes = {a = [1]}\n[load]"), "pools.attributes.a: expected true, false, a whole number of 64 bits or text, got [1]"),
        (("[load]", "[pools]\nattributes = 3\n[load]"), "pools.attributes: expected a valid dictionary, got 3"),
        (("[load]", "[subject]\nstart = 'before-trafic'\n[load]"), "Did you mean 'before-traffic'?"),
        (("[load]", "[claim]\nadmin_access = 'si'\n[load]"), "claim.admin_access: expected a valid boolean, got 'si'"),
        (("[load]", "[[subject.schedulers]]\nkind = 'kube-scheduler'\nverbosity = 'x'\n[load]"), "subject.schedulers.0.verbosity: expected a valid integer"),
        (("[load]", "[claim]\nselectors = 'x'\n[load]"), "claim.selectors: expected a valid list, got 'x'"),
    ],
)  # fmt: skip
def test_mistakes_are_named(
    write: Callable[[str], str], change: tuple[str, str], mistake: str
) -> None:
    assert change[0] in TEXT
    with pytest.raises(errors.ScenarioError) as caught:
        loading.load(write(TEXT.replace(*change)))
    message = str(caught.value)
    assert "mine.toml: 1 mistake in the scenario\n" in message
    assert f"  {mistake}" in message or mistake in message.splitlines()[1]
    assert caught.value.exit_code == 2


TIMES = "users = 4\nduration_s = {}\nduration_max_s = {}\nwait_s = {}\n[limits]\ntimeout_s = {}"


@pytest.mark.parametrize(
    ("times", "least"),
    [((5, 40, 10, 49.9), "50"), ((5, 120, 10, 60), "130"), ((90, 40, 10, 99), "100")],
)
def test_a_time_limit_that_would_end_the_load_first(
    write: Callable[[str], str], times: tuple[float, ...], least: str
) -> None:
    text = TEXT.replace("users = 4", TIMES.format(*times))
    message = f"  limits.timeout_s: expected at least {least} .*--set limits.timeout_s={least}$"
    with pytest.raises(errors.ScenarioError, match=message):
        loading.load(write(text))
    enough = loading.load(write(text), overrides=[f"limits.timeout_s={least}"])
    assert enough.scenario.timeout_s == float(least)


def test_the_time_limit_grows_with_the_traffic(write: Callable[[str], str]) -> None:
    """The advice for a small machine is one option, and works by itself."""
    longer = loading.load(write(TEXT), overrides=["traffic.duration_max_s=1200"]).scenario
    assert longer.timeout_s > 1200 + longer.traffic.wait_s


def test_all_mistakes_are_told_at_once(write: Callable[[str], str]) -> None:
    text = TEXT.replace("users = 4", "usres = 4").replace("allocations_min = 1", "")
    with pytest.raises(errors.ScenarioError, match="2 mistakes in the scenario"):
        loading.load(write(text))


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("traffic.user=3", "traffic.users"),
        ("trafic.users=3", "traffic"),
        ("users=3", "traffic.users"),
        ("load.allocation_min=3", "load.allocations_min"),
        ("subject.pauses.probabillity=0.5", "subject.pauses.probability"),
        ("control=[]", "controls"),
    ],
)
def test_a_misspelt_key_comes_with_the_one_that_was_meant(
    write: Callable[[str], str], override: str, meant: str
) -> None:
    with pytest.raises(errors.ScenarioError, match=f"Did you mean '{meant}'") as caught:
        loading.load(write(TEXT), overrides=[override])
    assert f"  {override.partition('=')[0].split('.')[0]}" in str(caught.value)


def test_a_key_like_no_other_is_only_refused(write: Callable[[str], str]) -> None:
    with pytest.raises(errors.ScenarioError, match="Remove it or correct") as caught:
        loading.load(write(TEXT), overrides=["zzz=1"])
    assert "Did you mean" not in str(caught.value)


# ---------------------------------------------------------------- what cannot ever be VALID


ALL_AT_ONCE = (
    TEXT.replace('profile = "churn"', 'profile = "all-at-once"\npods = 8')
    + "[pools]\nnodes = 2\ndevices_per_node = 5\n"
)


TWICE = (
    "subject.schedulers=[{kind='python', scheduler_name='a'}, {kind='python', scheduler_name='a'}]"
)
BOTH = "subject.schedulers=[{kind='python'}, {kind='python'}]"


@pytest.mark.parametrize(
    ("overrides", "objection"),
    [
        (["claim.devices=6"], "claim: expected a request that a pool can satisfy"),
        (["traffic.pods=11"], "traffic.pods: expected at most 10, got 11"),
        (["claim.devices=2"], "traffic.pods: expected at most 4, got 8"),
        (["pools.nodes=5000", "pools.devices_per_node=1280"], "pools: expected at most 1000000"),
        (["claim.extended=true", "claim.selectors=['true']"], "claim.extended: expected"),
        (["claim.extended=true", "claim.parameters.key='value'"], "claim.extended: expected"),
        (["subject.own_devices=true", TWICE], "subject.own_devices: expected schedulers with"),
        (["subject.own_devices=true", "subject.leader_election=true"], "subject.own_devices: "),
        (["subject.own_devices=true", "claim.extended=true"], "subject.own_devices: "),
        (
            ["subject.own_devices=true", "claim.devices=3", "traffic.pods=2", BOTH],
            "subject.own_devices: expected schedulers with different names, one kind of pools",
        ),
        (["pools.published_by='driver'"], "pools.published_by: expected 'run' without a driver"),
        (["driver.device_status=true"], "driver.device_status: expected false with"),
    ],
)
def test_what_no_cluster_can_satisfy_is_refused(
    write: Callable[[str], str], overrides: list[str], objection: str
) -> None:
    path = write(ALL_AT_ONCE)
    with pytest.raises(errors.ScenarioError) as caught:
        loading.load(path, overrides=overrides)
    assert f"expected a scenario that can be satisfied\n  {objection}" in str(caught.value)


@pytest.mark.parametrize(
    "overrides", [[], ["traffic.pods=10"], ["claim.devices=2", "traffic.pods=4"], ["claim.admin_access=true", "traffic.pods=99"], ["traffic.overcommit=true", "traffic.pods=99"], ["claim.extended=true", "pools.device_class.extended_resource='e.example/gpu'"]]
)  # fmt: skip
def test_what_may_work_is_loaded(write: Callable[[str], str], overrides: list[str]) -> None:
    assert loading.load(write(ALL_AT_ONCE), overrides=overrides).scenario.name == "mine"


# ---------------------------------------------------------------- overriding


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("traffic.users=8", lambda s: s.traffic.users == 8),
        ("traffic.users = 8", lambda s: s.traffic.users == 8),
        ("traffic.hold_s=0.5", lambda s: s.traffic.hold_s == 0.5),
        ("pools.nodes=2", lambda s: s.pools.nodes == 2),
        ("subject.start=after-traffic", lambda s: s.subject.start == "after-traffic"),
        ('subject.start="after-traffic"', lambda s: s.subject.start == "after-traffic"),
        ("subject.pauses.probability=0.5", lambda s: s.subject.pauses.probability == 0.5),
        ('title="a=b"', lambda s: s.title == "a=b"),
        ("claim.admin_access=true", lambda s: s.claim.admin_access is True),
        ('controls=["one"]', lambda s: s.controls == ["one"]),
    ],
)
def test_overrides(
    write: Callable[[str], str], override: str, value: Callable[[Any], bool]
) -> None:
    loaded = loading.load(write(TEXT), overrides=[override])
    assert value(loaded.scenario)
    assert loaded.text == TEXT, "the file's text stays as it is"


@pytest.mark.parametrize("override", ["traffic.users", "=8", ""])
def test_what_is_no_override(write: Callable[[str], str], override: str) -> None:
    with pytest.raises(errors.UsageError, match="expected --set key=value"):
        loading.load(write(TEXT), overrides=[override])


def test_a_value_is_no_table(write: Callable[[str], str]) -> None:
    with pytest.raises(errors.UsageError, match="'name' is a value, not a table"):
        loading.load(write(TEXT), overrides=["name.first=x"])


@pytest.mark.parametrize(
    ("overrides", "pods"),
    [
        ([], 8),
        (["traffic.overcommit=true", "traffic.pods=99"], 10),
        (["traffic.overcommit=true", "traffic.pods=99", "claim.devices=2"], 4),
        (["claim.admin_access=true", "traffic.pods=99"], 99),
    ],
)
def test_the_pods_that_can_run_at_once(
    write: Callable[[str], str], overrides: list[str], pods: int
) -> None:
    scenario = loading.load(write(ALL_AT_ONCE), overrides=overrides).scenario
    assert isinstance(scenario.traffic, traffic_specs.AllAtOnceTraffic)
    assert possibility.pods_at_once(scenario, scenario.traffic) == pods

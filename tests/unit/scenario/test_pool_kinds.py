"""Kinds of pools and claims in scenario files: contradictions, and what no pool can satisfy."""

import pathlib
from collections.abc import Callable

import pytest

from harness import errors
from harness.scenario import loading

TEXT = """
schema_version = 1
name = "mine"
title = "a title"
description = "a description"

[traffic]
profile = "churn"
users = 4

[load]
allocations_min = 1
pods_running_min = 0

[pools]
nodes = 2
devices_per_node = 0

[[pools.more]]
name = "gpu"
devices = 4

[[claim.requests]]
name = "one"
pool = "gpu"
"""
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Write:
    def write_one(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return str(path)

    return write_one


def gpu(keys: str) -> tuple[str, str]:
    return "devices = 4\n", f"devices = 4\n{keys}\n"


def one(keys: str) -> tuple[str, str]:
    return 'pool = "gpu"\n', f'pool = "gpu"\n{keys}\n'


def claim(keys: str) -> tuple[str, str]:
    return "[[claim.requests]]", f"[claim]\n{keys}\n[[claim.requests]]"


CONTRADICTIONS = [
    (gpu("slices = 5"), "pools.more.0: gpu: expected at most 4 slices, one for each device, got 5"),
    (("devices = 4", "devices = 0"), "pools.more.0.devices: expected at least 1, got 0"),
    (("devices = 4", "devices = 1281"), "pools.more.0.devices: expected at most 1280"),
    (gpu("limit = 0"), "pools.more.0.limit: expected at least 1, got 0"),
    (gpu("partitions = [2, 2]"), "expected each number of partitions once"),
    (gpu("partitions = [64, 63, 62, 61, 60, 59]"), "at most 1280 devices and partitions in a pool, got 1476"),
    (gpu("partitions = [0]"), "pools.more.0.partitions.0: expected at least 1, got 0"),
    (gpu("attributes = { kind = 'x' }"), "expected other attributes than index, kind, owner, parts, got kind"),
    (gpu("attributes = { a = 1 }\nattributes_in_turn = { a = [1] }"), "expected each attribute once, got a in"),
    (gpu("capacity = { memory = 'lots' }"), "expected a quantity such as 4, 500m or 8Gi, got 'lots'"),
    (gpu("capacity = { memory = true }"), "expected a quantity such as 4, '500m' or '8Gi', got True"),
    (gpu("capacity = { memory = 8 }\npolicies = { memory = { default = 1 } }"), "expected shared = true with policies"),
    (gpu("shared = true\npolicies = { memory = { default = 1 } }"), "expected policies of its capacities, got memory"),
    (gpu("shared = true\ncapacity = { m = 8 }\npolicies = { m = { default = 1, values = [1], least = 1 } }"), "expected either values or least, got both"),
    (gpu("shared = true\ncapacity = { m = 8 }\npolicies = { m = { default = 1, step = 1 } }"), "expected least with most and step"),
    (gpu("place = 'rack'"), "pools.more.0.place: expected 'node', 'zone', 'cluster' or 'device', got 'rack'"),
    (gpu("place = 'zone'"), "pools: zones: expected at least 1 for pools in zones, got 0"),
    (gpu("binding_failure_conditions = ['x']"), "expected binding_conditions with binding_failure_conditions"),
    (gpu("[[pools.more]]\nname = 'gpu'\ndevices = 1"), "pools: more: expected each name once, got gpu, gpu"),
    (("devices_per_node = 0", "devices_per_node = 0\nzones = 3"), "pools: zones: expected at most nodes = 2, got 3"),
    (("devices_per_node = 0", "devices_per_node = 0\ndevice_class = { parameters = { a = 'b' } }"), "device_class.parameters: expected none with more"),
    (("[[pools.more]]\nname = \"gpu\"\ndevices = 4", ""), "pools: expected devices_per_node of at least 1 without more"),
    (('name = "gpu"', 'name = "a-b"'), "pools.more.0.name: "),
    (one("devices = 2\nall = true"), "expected either devices or all = true, got both"),
    (one("first_available = [{ name = 'a' }]"), "one: expected first_available alone, got other keys"),
    (one("devices = 33"), "claim.requests.0.devices: expected at most 32"),
    (one("devices = 32\n[[claim.requests]]\nname = 'two'"), "expected at most 32 devices of all requests, got 33"),
    (claim("devices = 2"), "claim: expected requests without class, devices, selectors"),
    (claim("constraints = [{ match_attribute = 'a', distinct_attribute = 'a' }]"), "expected either match_attribute or distinct_attribute"),
    (one("[[claims]]\ndevices = 2"), "claims: expected either claim or claims, got both"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "mistake"), CONTRADICTIONS, ids=[m for _, m in CONTRADICTIONS])
def test_contradictions_are_named_when_the_scenario_is_loaded(
    write: Write, change: tuple[str, str], mistake: str
) -> None:
    assert change[0] in TEXT
    with pytest.raises(errors.ScenarioError) as caught:
        loading.load(write(TEXT.replace(*change)))
    assert mistake in str(caught.value)


OBJECTIONS = [
    (one("devices = 5"), "claim.requests.0: expected a request that a pool can satisfy"),
    (one("capacity = { memory = 1 }"), "claim.requests.0: expected a request that a pool can satisfy"),
    (('pool = "gpu"', 'pool = "cpu"'), "claim.requests.0.pool: expected one of gpu, got 'cpu'"),
    (('profile = "churn"', 'profile = "all-at-once"\npods = 9'), "traffic.pods: expected at most 8, got 9; the pools satisfy no more claims"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "objection"), OBJECTIONS)
def test_what_no_pool_can_satisfy_is_refused(
    write: Write, change: tuple[str, str], objection: str
) -> None:
    with pytest.raises(errors.ScenarioError) as caught:
        loading.load(write(TEXT.replace(*change)))
    assert f"expected a scenario that can be satisfied\n  {objection}" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        gpu("place = 'cluster'\nlimit = 2\nslices = 2"),
        gpu("shared = true\ncapacity = { memory = '8Gi' }"),
        gpu("[[pools.more]]\nname = 'nic'\nplace = 'device'\ndevices = 3"),
        one("tolerations = [{ key = 'old' }]"),
        one("all = true"),
        (
            '[[claim.requests]]\nname = "one"\npool = "gpu"',
            "[[claims]]\nweight = 3\n[[claims]]\ndevices = 2",
        ),
    ],
)
def test_what_may_work_is_loaded_and_survives_its_plan(
    write: Write, change: tuple[str, str]
) -> None:
    scenario = loading.load(write(TEXT.replace(*change))).scenario
    assert type(scenario).model_validate(scenario.model_dump(mode="json")) == scenario


def test_kinds_of_claims_come_in_rounds(write: Write) -> None:
    kinds = "[[claims]]\nweight = 2\n[[claims]]\ndevices = 2\n"
    text = TEXT.replace('[[claim.requests]]\nname = "one"\npool = "gpu"\n', kinds)
    scenario = loading.load(write(text)).scenario
    assert [scenario.claim_kind(number) for number in range(7)] == [0, 0, 1, 0, 0, 1, 0]
    assert [kind.devices for kind in scenario.claim_kinds] == [1, 2]


def test_the_example_of_the_documents_works(write: Write) -> None:
    text = (pathlib.Path(__file__).parents[3] / "docs/how-to/write-a-scenario.md").read_text()
    example = text.partition("## Pools and claims")[2].partition("```toml\n")[2].partition("```")[0]
    head = TEXT.partition("[pools]")[0]
    scenario = loading.load(write(head + example)).scenario
    assert [kind.name for kind in scenario.pools.more] == ["gpu", "nic"]

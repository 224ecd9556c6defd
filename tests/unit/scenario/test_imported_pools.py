"""Scenarios with `pools.from`: what is read, what follows from it, and what is refused by name."""

import json
import pathlib
from collections.abc import Callable

import pytest

from harness import errors
from harness.reproduction import scenario_files
from harness.scenario import cluster_features, imported_pools, loading, profiles, specs
from tests.support import cases, mig_objects

HEAD = 'schema_version = 1\nname = "mine"\ntitle = "a title"\n[pools]\n'
LOAD = '[traffic]\nprofile = "churn"\nusers = 4\n[load]\nallocations_min = 1\n'
SLICE = """apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec: {driver: d.x, nodeName: n1, pool: {name: p, generation: 1, resourceSliceCount: 1}}
"""
NODE = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {zone: a}}\n"
Load = Callable[..., loading.Loaded]


@pytest.fixture
def load(tmp_path: pathlib.Path) -> Load:
    """Return a function that loads a scenario with files of these texts in its folder."""

    def loaded(*texts: str, pools: str = "", claims: str = "", **options) -> loading.Loaded:
        for number, text in enumerate(texts):
            (tmp_path / f"{number}.yaml").write_text(text)
        named = json.dumps([f"{number}.yaml" for number in range(len(texts))])
        path = tmp_path / "mine.toml"
        path.write_text(f"{HEAD}from = {named}\n{pools}\n{claims}\n{LOAD}")
        return loading.load(str(path), **options)

    return loaded


def test_numbers_follow_from_the_files(load: Load) -> None:
    loaded = load(mig_objects.TEXT, pools="copies = 3", claims=mig_objects.CLAIMS)
    pools = loaded.scenario.pools
    assert (pools.nodes, pools.devices_per_node, pools.device_count) == (3, 0, 11)
    assert pools.drivers == ["gpu.example.com", "nic.example.com"]
    assert pools.class_names == ["flake-hunt", "mig.example.com", "nic.example.com"]
    assert pools.extended_resources["example.com/mig"] == "mig.example.com"
    assert set(pools.imported.has) == {"counters", "several-nodes"}


def test_a_plan_and_a_written_file_give_the_scenario_again(
    load: Load, tmp_path: pathlib.Path
) -> None:
    loaded = load(mig_objects.TEXT, pools="copies = 2", claims=mig_objects.CLAIMS)
    settings = json.loads(json.dumps(loaded.scenario.model_dump(mode="json")))
    assert settings["pools"]["from"] == ["0.yaml"]
    assert specs.Scenario.model_validate(settings) == loaded.scenario
    (tmp_path / "again.toml").write_text(scenario_files.text(loaded.scenario))
    assert loading.load(str(tmp_path / "again.toml")).scenario == loaded.scenario


def test_saved_objects_are_read_as_the_same_objects(load: Load, tmp_path: pathlib.Path) -> None:
    found = load(mig_objects.TEXT).pool_objects
    (tmp_path / "saved.json").write_bytes(b"".join(imported_pools.chunks(found.compressed)))
    again = imported_pools.read([str(tmp_path / "saved.json")])
    assert (again.summary, list(again)) == (found.summary, list(found))


def test_described_pools_may_stand_beside_them(load: Load) -> None:
    pools = load(SLICE + NODE, pools="nodes = 4\ndevices_per_node = 2").scenario.pools
    assert (pools.nodes, pools.imported_nodes, pools.device_count) == (4, 1, 8)
    assert pools.drivers == ["gpu.flake-hunt.example", "d.x"]


def test_files_are_looked_for_beside_the_scenario_and_those_of_overrides_here(
    load: Load, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = SLICE.replace("}}", "}, devices: [{name: a}]}")
    load(one)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "s.yaml").write_text(one.replace("n1", "elsewhere"))
    monkeypatch.chdir(tmp_path / "here")
    loaded = loading.load(str(tmp_path / "mine.toml"), overrides=['pools.from=["s.yaml"]'])
    assert next(iter(loaded.pool_objects))["metadata"]["name"] == "elsewhere"


@pytest.mark.parametrize(
    ("text", "said"),
    cases.read(__file__, "objects"),
)
def test_objects_that_do_not_fit_together_are_refused_by_place(
    text: str, said: str, load: Load
) -> None:
    with pytest.raises(errors.ManifestError, match=said):
        load(text)


@pytest.mark.parametrize(
    ("pools", "claims", "said"),
    cases.read(__file__, "keys"),
)
def test_keys_that_do_not_fit_the_files_are_refused(
    pools: str, claims: str, said: str, load: Load
) -> None:
    one = SLICE.replace("}}", "}, devices: [{name: a}]}")
    with pytest.raises(errors.ScenarioError, match=said):
        load(one, pools=pools, claims=claims)


def test_lists_of_values_switch_their_gate_on_in_the_embedded_server(load: Load) -> None:
    text = SLICE.replace("}}", "}, devices: [{name: a, attributes: {x: {ints: [1]}}}]}")
    loaded = load(text)
    profile = profiles.suited(profiles.load("embedded"), loaded.scenario)
    assert profile.feature_gates == {cluster_features.LISTS: True}


def test_ten_thousand_slices_stay_small(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "many.json"
    pool = {"generation": 1, "resourceSliceCount": 1}
    items = [
        {
            "metadata": {"name": f"s{number}"},
            "spec": {
                "driver": "d.x",
                "nodeName": f"n{number % 1000}",
                "pool": {"name": f"p{number}", **pool},
                "devices": [{"name": "a", "attributes": {"index": {"int": number}}}],
            },
        }
        for number in range(10_000)
    ]
    document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSliceList", "items": items}
    path.write_text(json.dumps(document))
    found = imported_pools.read([str(path)])
    assert (found.summary.slices, found.summary.nodes) == (10_000, 1000)
    assert len(found.compressed) < path.stat().st_size / 5
    assert sum(1 for _ in found) == 11_000

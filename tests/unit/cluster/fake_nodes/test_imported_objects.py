"""The objects of files as a run creates them: renamed, multiplied, with the run's labels."""

import pathlib

import pytest

from harness.cluster.fake_nodes import fake_objects, imported_objects
from harness.model.objects import Object
from harness.scenario import imported_pools, loading, pool_specs
from tests.support import mig_objects

MORE = pathlib.Path(__file__).with_suffix(".yaml").read_text()


@pytest.fixture
def found(tmp_path: pathlib.Path) -> imported_pools.Imported:
    path = tmp_path / "objects.yaml"
    path.write_text(mig_objects.TEXT.replace(mig_objects.NODE, "n2") + MORE)
    return imported_pools.read([str(path)])


def given(
    found: imported_pools.Imported, *, copies: int = 1, owner: str = ""
) -> imported_objects.ImportedObjects:
    pools = pool_specs.PoolsSpec.model_validate({"from": ["objects.yaml"], "copies": copies})
    pools = loading.with_summary(pools, found.summary)
    if owner:
        pools = fake_objects.own(pools, owner)
    return imported_objects.ImportedObjects(pools, found, labels={"run": "r"})


def by_pool(slices: list[Object]) -> dict[str, list[Object]]:
    pools: dict[str, list[Object]] = {}
    for item in slices:
        pools.setdefault(item["spec"]["pool"]["name"], []).append(item["spec"])
    return pools


def test_pools_that_name_nodes_are_multiplied_and_follow_them(
    found: imported_pools.Imported,
) -> None:
    slices = list(given(found, copies=2).slices())
    names = [item["metadata"]["name"] for item in slices]
    assert len(set(names)) == len(names)
    assert {item["metadata"]["labels"]["run"] for item in slices} == {"r"}
    pools = by_pool(slices)
    assert pools.keys() == {"worker-1", "worker-3", "nics", "fabric", "fabric-1"}
    assert {spec["nodeName"] for spec in pools["worker-3"]} == {"worker-3"}
    [copied] = pools["fabric-1"]
    assert copied["pool"] == {"name": "fabric-1", "generation": 7, "resourceSliceCount": 2}
    first, second = copied["devices"]
    assert first["nodeName"] == "worker-2"
    [term] = second["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchFields"][0]["values"] == ["worker-3", "worker-2"]


def test_nodes_keep_labels_and_amounts(found: imported_pools.Imported) -> None:
    objects = given(found, copies=2)
    node = objects.node(2, "worker-2")
    assert node["labels"] == {
        "kubernetes.io/hostname": "worker-2",
        "zone": "a",
        "kubernetes.io/os": "linux",
    }
    assert node["amounts"] == {"cpu": "4", "pods": "7"}
    assert objects.node(3, "worker-3")["amounts"] is None
    assert objects.node(4, "worker-4") is None


def test_classes_templates_and_rules_stay_as_they_are(found: imported_pools.Imported) -> None:
    objects = given(found, copies=2)
    mig, _ = objects.device_classes()
    assert mig["metadata"]["name"] == "mig.example.com"
    assert mig["spec"]["extendedResourceName"] == "example.com/mig"
    assert mig["spec"]["config"][0]["opaque"]["parameters"]["sharing"]["interval"] == 5
    [template] = objects.templates()
    assert "namespace" not in template["metadata"]
    rules = {item["metadata"]["name"]: item["spec"]["deviceSelector"] for item in objects.rules()}
    assert rules == {
        "broken": {"pool": "fabric", "device": "a"},
        "broken-1": {"pool": "fabric-1", "device": "a"},
    }


def test_other_users_of_the_cluster_are_left_alone(found: imported_pools.Imported) -> None:
    objects = given(found, owner="r1")
    mig, _ = objects.device_classes()
    assert mig["metadata"]["name"] == "mig.example.com-r1"
    assert mig["spec"]["extendedResourceName"] == "r1.example.com/mig"
    texts = [item["cel"]["expression"] for item in mig["spec"]["selectors"]]
    assert texts[0].endswith('device.attributes[device.driver].owner == "r1"')
    assert texts[1] == 'device.driver == "gpu.example.com"'
    pools = by_pool(list(objects.slices()))
    assert pools.keys() == {"flake-hunt-r1-worker-1", "nics-r1", "fabric-r1"}
    owners = {
        device["attributes"]["owner"]["string"]
        for specs in pools.values()
        for spec in specs
        for device in spec.get("devices", ())
    }
    assert owners == {"r1"}
    [template] = objects.templates()
    request = template["spec"]["spec"]["devices"]["requests"][0]
    assert request["exactly"]["deviceClassName"] == "mig.example.com-r1"
    assert "kubernetes.io/os" not in objects.node(0, "flake-hunt-r1-worker-0")["labels"]

"""The fake world of a run: published whole, removed without a trace."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness import errors
from harness.client import apis
from harness.cluster import contracts, fakes, leases, pools
from harness.scenario import loading, specs

SPEC = specs.PoolsSpec(nodes=3, devices_per_node=2)
EVERYTHING = (
    apis.NAMESPACES,
    apis.NODES,
    apis.PODS,
    apis.CLAIMS,
    apis.CLAIM_TEMPLATES,
    apis.SLICES,
    apis.DEVICE_CLASSES,
)


def names(api: apis.Api) -> dict[str, list[str]]:
    return {
        resource.plural: [item["metadata"]["name"] for item in api.list(resource).items]
        for resource in EVERYTHING
    }


@pytest.fixture
def world(api: apis.Api) -> Iterator[pools.World]:
    made = pools.publish(api, SPEC, namespace="run-1", run_id="r1")
    yield made
    pools.remove(api, made)


def test_a_cluster_that_others_use_gets_names_of_the_runs_own() -> None:
    shipped = loading.load("pod-churn").scenario.pools
    own = fakes.own(shipped, "0123abcd")
    assert (own.owner, own.node_prefix) == ("0123abcd", "flake-hunt-0123abcd-worker-")
    assert own.device_class.name == "flake-hunt-0123abcd"
    long = shipped.model_copy(update={"node_prefix": "n" * 40 + "-"})
    changed = fakes.own(long, "0123abcd")
    assert specs.PoolsSpec.model_validate(changed.model_dump()) == changed
    assert "0123abcd" in changed.node_prefix


def test_what_is_published(api: apis.Api, world: pools.World) -> None:
    assert world.nodes == ["worker-0", "worker-1", "worker-2"]
    assert len(world.slices) == 3
    for resource, name in [
        (apis.NAMESPACES, world.namespace),
        (apis.DEVICE_CLASSES, world.device_class),
        *((apis.NODES, node) for node in world.nodes),
        *((apis.SLICES, item) for item in world.slices),
    ]:
        meta = api.get(resource, name)["metadata"]
        assert meta["labels"][pools.RUN_LABEL] == "r1"


def test_nodes_are_ready_and_say_that_they_are_fake(api: apis.Api, world: pools.World) -> None:
    node = api.get(apis.NODES, "worker-0")
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert {c["type"]: c["status"] for c in node["status"]["conditions"]}["Ready"] == "True"


def test_the_class_selects_the_driver() -> None:
    selectors = ['device.attributes["x"].model == "fake"']
    spec = specs.PoolsSpec(device_class=specs.DeviceClassSpec(selectors=selectors))
    found = fakes.device_class(spec, labels={})["spec"]["selectors"]
    assert [item["cel"]["expression"] for item in found] == [
        f'device.driver == "{spec.driver}"',
        *selectors,
    ]


@pytest.mark.parametrize(
    ("devices", "sizes"),
    [(1, [1]), (128, [128]), (129, [128, 1]), (300, [128, 128, 44]), (1280, [128] * 10)],
)
def test_a_pool_is_cut_into_slices(devices: int, sizes: list[int]) -> None:
    spec = specs.PoolsSpec(nodes=1, devices_per_node=devices)
    found = list(fakes.slice_objects(spec, "worker-0", labels={}))
    assert [len(item["spec"]["devices"]) for item in found] == sizes
    assert {item["spec"]["pool"]["resourceSliceCount"] for item in found} == {len(sizes)}
    assert {item["spec"]["pool"]["generation"] for item in found} == {1}
    device_names = [device["name"] for item in found for device in item["spec"]["devices"]]
    assert len(set(device_names)) == devices
    assert len({item["metadata"]["name"] for item in found}) == len(sizes)


def test_a_large_pool_is_accepted(api: apis.Api) -> None:
    spec = specs.PoolsSpec(nodes=1, devices_per_node=129, capacity={"memory": "8Gi"})
    made = pools.publish(api, spec, namespace="large", run_id="r")
    stored = [api.get(apis.SLICES, name) for name in made.slices]
    pools.remove(api, made)
    assert [len(item["spec"]["devices"]) for item in stored] == [128, 1]
    assert stored[0]["spec"]["devices"][0]["capacity"] == {"memory": {"value": "8Gi"}}


def test_attributes_have_the_type_of_their_value() -> None:
    spec = specs.PoolsSpec(attributes={"model": "a", "fast": True, "cores": 4}, nodes=1)
    first = next(fakes.slice_objects(spec, "worker-0", labels={}))["spec"]["devices"][0]
    assert first["attributes"] == {
        "model": {"string": "a"},
        "fast": {"bool": True},
        "cores": {"int": 4},
        "index": {"int": 0},
    }


def test_removing_leaves_nothing(api: apis.Api) -> None:
    before = names(api)
    made = pools.publish(api, SPEC, namespace="run-2", run_id="r2", admin=True)
    fill(api, made)
    pools.remove(api, made)
    assert names(api) == before


def fill(api: apis.Api, world: pools.World) -> None:
    """A claim that a finalizer holds, a template, a pod that runs, and a slice that is gone already."""
    request = {
        "name": "gpu",
        "exactly": {"deviceClassName": world.device_class, "adminAccess": True},
    }
    spec = {"devices": {"requests": [request]}}
    meta: dict[str, Any] = {
        "name": "held",
        "finalizers": ["resource.kubernetes.io/delete-protection"],
    }
    api.create(apis.CLAIMS, {"metadata": meta, "spec": spec}, namespace=world.namespace)
    template = {"metadata": {"name": "t"}, "spec": {"spec": spec}}
    api.create(apis.CLAIM_TEMPLATES, template, namespace=world.namespace)
    containers = [{"name": "c", "image": "i"}]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
    api.bind(api.create(apis.PODS, pod, namespace=world.namespace), world.nodes[0])
    api.delete(apis.SLICES, world.slices[0])


def test_the_namespace_of_admins_is_marked(api: apis.Api) -> None:
    made = pools.publish(api, SPEC, namespace="admins", run_id="r", admin=True)
    labels = api.get(apis.NAMESPACES, "admins")["metadata"]["labels"]
    pools.remove(api, made)
    assert labels["resource.kubernetes.io/admin-access"] == "true"


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("namespace", "what"), [("run-1", "Namespace 'run-1'"), ("other", "DeviceClass 'flake-hunt'")]
)
def test_a_second_run_on_the_same_cluster_is_refused(
    api: apis.Api, namespace: str, what: str
) -> None:
    with pytest.raises(errors.ClusterError, match=f"expected no {what} on the cluster"):
        pools.publish(api, SPEC, namespace=namespace, run_id="r")


@pytest.mark.usefixtures("world")
def test_a_refusal_leaves_nothing_of_the_second_and_all_of_the_first(api: apis.Api) -> None:
    before = names(api)
    second = SPEC.model_copy(update={"device_class": specs.DeviceClassSpec(name="second")})
    with pytest.raises(errors.ClusterError, match="expected no Node 'worker-0'"):
        pools.publish(api, second, namespace="second", run_id="r2")
    assert names(api) == before


def test_runs_that_share_a_cluster_share_nothing_else(api: apis.Api) -> None:
    """Names, devices by their owner, and a taint that only the run's own pods tolerate."""
    shared = contracts.Capabilities(exclusive=False)
    worlds = []
    for run_id in ("aa", "bb"):
        spec = SPEC.model_copy(
            update={
                "node_prefix": f"{run_id}-",
                "owner": run_id,
                "device_class": specs.DeviceClassSpec(name=f"class-{run_id}"),
            }
        )
        worlds.append(pools.publish(api, spec, namespace=run_id, run_id=run_id, on=shared))
    first, second = worlds
    assert set(first.nodes).isdisjoint(second.nodes)
    node = api.get(apis.NODES, first.nodes[0])
    taint = {"key": "flake-hunt/run", "value": "aa", "effect": "NoSchedule"}
    assert node["spec"]["taints"] == [taint]
    device = api.get(apis.SLICES, first.slices[0])["spec"]["devices"][0]
    assert device["attributes"]["owner"] == {"string": "aa"}
    expressions = [
        item["cel"]["expression"]
        for item in api.get(apis.DEVICE_CLASSES, "class-bb")["spec"]["selectors"]
    ]
    assert 'owner == "bb"' in expressions[1]
    pools.remove(api, first)
    assert {item["metadata"]["name"] for item in api.list(apis.NODES).items} == set(second.nodes)
    pools.remove(api, second)


def test_what_somebody_else_made_under_the_same_name_stays(api: apis.Api) -> None:
    made = pools.publish(api, SPEC, namespace="mine", run_id="r3")
    api.delete(apis.NODES, "worker-1")
    api.create(apis.NODES, {"metadata": {"name": "worker-1"}})
    pools.remove(api, made)
    assert names(api)["nodes"] == ["worker-1"]
    api.delete(apis.NODES, "worker-1")


def test_what_a_killed_run_left_is_found_by_its_label(api: apis.Api) -> None:
    before = names(api)
    pools.publish(api, SPEC, namespace="left", run_id="r4")
    lease = {"metadata": {"name": "worker-0", "labels": {pools.RUN_LABEL: "r4"}}, "spec": {}}
    api.create(apis.LEASES, lease, namespace=leases.NAMESPACE)
    assert pools.find(api, "r5") is None
    found = pools.find(api, "r4")
    assert found is not None
    assert found.namespace == "left"
    pools.remove(api, found)
    assert names(api) == before
    left = api.list(apis.LEASES, label_selector=f"{pools.RUN_LABEL}=r4").items
    assert left == []


def test_what_came_too_late_does_not_keep_the_namespace(
    api: apis.Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim whose finalizer nobody takes away any more, made just after everything was emptied."""
    made = pools.publish(api, SPEC, namespace="late", run_id="r6", admin=True)
    empty, calls = pools._empty, []

    def emptied(at: apis.Api, namespace: str) -> None:
        calls.append(namespace)
        empty(at, namespace)
        if len(calls) == 1:
            fill(api, made)

    monkeypatch.setattr(pools, "_empty", emptied)
    pools.remove(api, made)
    assert len(calls) > 1
    with pytest.raises(apis.ApiError):
        api.get(apis.NAMESPACES, "late")

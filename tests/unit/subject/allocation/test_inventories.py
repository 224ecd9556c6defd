"""Devices that the slices offer to a node."""

from typing import Any

import pytest

from harness.subject.allocation import expressions, inventories, pools
from tests.support import api_objects

Object = dict[str, Any]


def offered(
    *slices: Object, node: Object | None = None, selectors: tuple[str, ...] = ()
) -> list[str]:
    view = inventories.snapshot_of(slices).view(node or api_objects.node())
    return [device.name for device in view.devices if device.satisfies(selectors)]


def test_devices_come_in_the_order_of_the_names_of_their_slices() -> None:
    slices = [
        api_objects.slice_of("c", pool="p", name="s-10", count=2, allNodes=True),
        api_objects.slice_of("b", "a", pool="p", name="s-9", count=2, allNodes=True),
    ]
    assert offered(*slices) == ["c", "b", "a"], "text, not numbers"


def test_devices_are_identified_by_driver_pool_and_name() -> None:
    view = inventories.snapshot_of([api_objects.slice_of("a")]).view(api_objects.node())
    assert [item.id for item in view.devices] == [api_objects.device_id("a")]


def test_the_newest_generation_of_a_pool_counts() -> None:
    old, new = api_objects.slice_of("old"), api_objects.slice_of("new", generation=2)
    assert offered(old, new) == ["new"]
    assert offered(new, old) == ["new"]


def test_an_incomplete_pool_offers_nothing_even_when_its_old_generation_was_whole() -> None:
    old, new = api_objects.slice_of("old"), api_objects.slice_of("new", generation=2, count=2)
    assert offered(old, new) == []


def test_a_pool_with_a_doubled_device_name_offers_nothing() -> None:
    first = api_objects.slice_of("a", name="s-1", count=2)
    second = api_objects.slice_of("b", "a", name="s-2", count=2)
    other = api_objects.slice_of("c", pool="other", allNodes=True)
    assert offered(first, second, other) == ["c"]


@pytest.mark.parametrize("place", [{"nodeName": "worker-0"}, {"nodeName": "elsewhere"}])
def test_pools_with_binding_conditions_come_last_wherever_their_devices_are(place: Object) -> None:
    waiting = {**api_objects.device("a"), "bindingConditions": ["example.com/ready"], **place}
    here = {**api_objects.device("b"), "allNodes": True}
    first = api_objects.slice_of(waiting, here, pool="p", perDeviceNodeSelection=True)
    second = api_objects.slice_of("c", pool="q", allNodes=True)
    assert [*offered(first, second)[:1], offered(first, second)[-1]] == ["c", "b"]


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ({"nodeName": "worker-0"}, True),
        ({"nodeName": "worker-1"}, False),
        ({"allNodes": True}, True),
        ({"allNodes": False}, False),
        ({"nodeSelector": api_objects.allocation(node="worker-0")["nodeSelector"]}, True),
        ({"nodeSelector": api_objects.allocation(node="worker-1")["nodeSelector"]}, False),
    ],
)
def test_a_slice_is_for_the_nodes_that_it_names(place: Object, seen: bool) -> None:
    assert offered(api_objects.slice_of("a", **place)) == (["a"] if seen else [])


def test_devices_may_name_their_nodes_themselves() -> None:
    devices: list[Object] = [
        {"name": "mine", "nodeName": "worker-0"},
        {"name": "yours", "nodeName": "worker-1"},
        {"name": "ours", "allNodes": True},
    ]
    assert offered(api_objects.slice_of(*devices, perDeviceNodeSelection=True)) == ["mine", "ours"]


def test_a_slice_of_shared_counters_offers_nothing() -> None:
    made = api_objects.slice_of("a")
    made["spec"]["sharedCounters"] = [{"name": "c", "counters": {}}]
    assert offered(made) == []


def test_selectors_choose_and_all_must_agree() -> None:
    made = api_objects.slice_of(
        api_objects.device("a", kind="big", index=1),
        api_objects.device("b", kind="small", index=2),
        api_objects.device("c", kind="big", index=3),
    )
    kind = f'device.attributes["{api_objects.DRIVER}"].kind == "big"'
    index = f'device.attributes["{api_objects.DRIVER}"].index > 1'
    assert offered(made, selectors=(kind,)) == ["a", "c"]
    assert offered(made, selectors=(kind, index)) == ["c"]


def test_a_selector_that_fails_is_an_error() -> None:
    with pytest.raises(expressions.SelectorError):
        offered(api_objects.slice_of("a"), selectors=("device.attributes['x'].y == 1",))


def test_attributes_are_found_with_and_without_their_domain() -> None:
    made = api_objects.slice_of(
        {"name": "a", "attributes": {"kind": {"string": "x"}, "other.com/n": {"int": 0}}}
    )
    (device,) = inventories.snapshot_of([made]).view(api_objects.node()).devices
    assert device.attribute(f"{api_objects.DRIVER}/kind") == {("string", "x")}
    assert device.attribute("other.com/n") == {("int", 0)}
    assert device.attribute("other.com/kind") is None


def test_the_inventory_follows_its_informer() -> None:
    inventory = inventories.Inventory()

    def names() -> list[str]:
        return [item.name for item in inventory.snapshot().view(api_objects.node()).devices]

    inventory.on_add(api_objects.slice_of("a"), initial=True)
    assert names() == ["a"]
    assert inventory.snapshot() is inventory.snapshot()
    inventory.on_update(api_objects.slice_of("a"), api_objects.slice_of("a", "b"))
    assert names() == ["a", "b"]
    inventory.on_delete(api_objects.slice_of("a"))
    assert names() == []


def test_a_snapshot_answers_anew_for_a_node_with_other_labels() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
    made = api_objects.slice_of("a", nodeSelector={"nodeSelectorTerms": [term]})
    snapshot = inventories.snapshot_of([made])
    assert snapshot.view(api_objects.node(labels={})).devices == ()
    assert len(snapshot.view(api_objects.node(labels={"zone": "z"})).devices) == 1
    assert snapshot.view(api_objects.node(labels={})).devices == ()


def test_a_changed_slice_costs_the_work_of_its_own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory, nodes = inventories.Inventory(), [api_objects.node(f"n-{i}") for i in range(50)]
    for index in range(50):
        inventory.on_add(api_objects.slice_of("a", pool=f"n-{index}"), initial=True)
    asked: list[tuple[str, str]] = []
    on_node = pools.Pool.on_node

    def asking(pool: pools.Pool, node: Object) -> pools.NodePool | None:
        asked.append(pool.key)
        return on_node(pool, node)

    monkeypatch.setattr(pools.Pool, "on_node", asking)
    for node in nodes:
        inventory.snapshot().view(node)
    assert len(asked) == 50
    asked.clear()
    old, new = (api_objects.slice_of(name, pool="n-7") for name in ("a", "b"))
    inventory.on_update(old, new)
    seen = [inventory.snapshot().view(node).devices for node in nodes]
    assert asked == [(api_objects.DRIVER, "n-7")]
    assert [device.name for device in seen[7]] == ["b"]

"""Devices that the slices offer to a node."""

from typing import Any

import pytest

from harness.subject.allocation import inventories, pools
from tests.support import api_objects

Object = dict[str, Any]


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

"""The nodes, in the order in which they are tried."""

from harness.subject.scheduling import node_lists
from tests.support import api_objects


def names(known: node_lists.NodeList) -> list[str]:
    return [node["metadata"]["name"] for node in known.listed()]


def test_nodes_are_listed_in_natural_order() -> None:
    known = node_lists.NodeList()
    for name in ("worker-10", "worker-9", "a"):
        known.on_add(api_objects.node(name), initial=True)
    assert names(known) == ["a", "worker-9", "worker-10"]
    known.on_delete(api_objects.node("worker-9"))
    assert names(known) == ["a", "worker-10"]


def test_the_same_list_is_returned_until_a_node_changes() -> None:
    known = node_lists.NodeList()
    old = api_objects.node("worker-1")
    known.on_add(old, initial=True)
    listed = known.listed()
    assert known.listed() is listed
    new = {**old, "spec": {"unschedulable": True}}
    known.on_update(old, new)
    assert (known.listed(), listed) == ((new,), (old,))

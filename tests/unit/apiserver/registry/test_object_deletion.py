"""Finalizers, graceful deletion, preconditions, and what goes with its owner or its namespace."""

from typing import Any

import pytest

from harness.apiserver.registry import object_deletion
from harness.apiserver.scheme import resources, timestamps
from harness.apiserver.storage import watch_cache

R = resources
Document = dict[str, Any]


def pod(name: str = "p", **meta: Any) -> Document:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name, **meta}, "spec": spec}


def make(store: Any, name: str, *owners: Any, resource: Any = R.CONFIGMAPS, **meta: Any) -> Any:
    """Create an object, perhaps with config maps as owners."""
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name, "uid": owner.uid}
        for owner in owners
    ]
    meta = {"name": name, **meta} | ({"ownerReferences": references} if references else {})
    return store.create(resource, "default", {"metadata": meta})


def collect(store: Any) -> int:
    steps = 0
    while store.age_garbage():
        while store.collect_garbage_step():
            steps += 1
    return steps


def names(store: Any, resource: Any = R.CONFIGMAPS, namespace: str = "default") -> list[str]:
    return [
        item.name
        for item in store.select(watch_cache.Selection(resource=resource, namespace=namespace))
    ]


def without_finalizers(document: Document) -> Document:
    document["metadata"].pop("finalizers", None)
    return document


# ---------------------------------------------------------------- pods


@pytest.fixture
def bound_pod(store: Any) -> Any:
    store.create(R.PODS, "default", pod())
    store.bind("default", "p", {"metadata": {"name": "p"}, "target": {"name": "node"}})
    return store.get(R.PODS, "default", "p")


def test_a_pod_that_finishes_while_it_ends_still_has_the_time_it_was_given(
    store: Any, bound_pod: Any
) -> None:
    begun, _ = store.delete(R.PODS, "default", "p")
    finished = {"status": {"phase": "Succeeded"}}
    store.patch(R.PODS, "default", "p", lambda d: d | finished, subresource="status")
    ending, gone = store.delete(
        R.PODS, "default", "p", object_deletion.DeleteOptions(grace_period_s=5)
    )
    before, after = (item.document()["metadata"]["deletionTimestamp"] for item in (begun, ending))
    assert (after, gone) == (timestamps.later(before, 5 - 30), False)
    assert store.delete(
        R.PODS, "default", "p", object_deletion.DeleteOptions(grace_period_s=60)
    ) == (
        ending,
        False,
    )


# ---------------------------------------------------------------- owners


def test_dependents_go_when_their_last_owner_is_gone(store: Any) -> None:
    one, two = make(store, "o1"), make(store, "o2")
    make(store, "s", one, two, resource=R.SECRETS)
    store.delete(R.CONFIGMAPS, "default", "o1")
    assert collect(store) == 0
    assert names(store, R.SECRETS) == ["s"]
    store.delete(R.CONFIGMAPS, "default", "o2")
    assert names(store, R.SECRETS) == ["s"], "collected in a step of its own"
    assert collect(store) == 1
    assert names(store, R.SECRETS) == []


def test_an_owner_of_the_same_name_but_another_uid_is_no_owner(store: Any) -> None:
    make(store, "s", make(store, "o"), resource=R.SECRETS)
    store.delete(R.CONFIGMAPS, "default", "o")
    make(store, "o")
    collect(store)
    assert names(store, R.SECRETS) == []


def test_an_object_whose_owner_is_of_another_group_stays(store: Any) -> None:
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "j", "uid": "u"}
    make(store, "s", resource=R.SECRETS, ownerReferences=[owner])
    assert collect(store) == 0
    assert names(store, R.SECRETS) == ["s"]


def test_garbage_with_a_finalizer_is_marked_once(store: Any) -> None:
    make(store, "s", make(store, "o"), resource=R.SECRETS, finalizers=["x/1"])
    store.delete(R.CONFIGMAPS, "default", "o")
    collect(store)
    assert store.get(R.SECRETS, "default", "s").deleting
    store.patch(R.SECRETS, "default", "s", without_finalizers)
    assert names(store, R.SECRETS) == []


def test_a_pod_that_is_evicted_twice_says_so_once(store: Any, bound_pod: Any) -> None:
    store.evict("default", "p", object_deletion.AS_USUAL)
    evicted = store.get(R.PODS, "default", "p")
    store.evict("default", "p", object_deletion.AS_USUAL)
    assert store.get(R.PODS, "default", "p") == evicted


# ---------------------------------------------------------------- namespaces


@pytest.fixture
def crowded(store: Any) -> None:
    """Namespace `n` with a bound pod, a plain object, and one that a finalizer holds."""
    store.create(R.NAMESPACES, "", {"metadata": {"name": "n"}})
    store.create(R.PODS, "n", pod())
    store.bind("n", "p", {"metadata": {"name": "p"}, "target": {"name": "node"}})
    store.create(R.CONFIGMAPS, "n", {"metadata": {"name": "a"}})
    store.create(R.SECRETS, "n", {"metadata": {"name": "held", "finalizers": ["x/1"]}})


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(store: Any, refuses: Any, name: str) -> None:
    with refuses(403, "Forbidden", f'namespaces "{name}" is forbidden: this namespace may not be'):
        store.delete(R.NAMESPACES, "", name)
    assert not store.get(R.NAMESPACES, "", name).deleting


@pytest.mark.usefixtures("crowded")
def test_a_namespace_goes_after_all_that_is_in_it(store: Any, refuses: Any) -> None:
    stored, gone = store.delete(R.NAMESPACES, "", "n")
    assert not gone
    assert stored.document()["status"] == {"phase": "Terminating"}
    collect(store)
    assert names(store, R.PODS, "n") == names(store, R.CONFIGMAPS, "n") == []
    assert names(store, R.SECRETS, "n") == ["held"]
    with refuses(403, "Forbidden", "because it is being terminated"):
        store.create(R.CONFIGMAPS, "n", {"metadata": {"name": "late"}})
    store.patch(R.SECRETS, "n", "held", without_finalizers)
    collect(store)
    with refuses(404, "NotFound"):
        store.get(R.NAMESPACES, "", "n")
    assert names(store, R.NAMESPACES, "") == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]


def test_garbage_is_left_alone_until_it_has_aged_and_what_follows_from_it_is_not(
    store: Any,
) -> None:
    owner = make(store, "a")
    make(store, "c", make(store, "b", owner))
    store.delete(R.CONFIGMAPS, "default", "a")
    assert not store.collect_garbage_step()
    assert store.age_garbage()
    make(store, "z", owner)  # which is gone already
    while store.collect_garbage_step():
        pass
    assert names(store) == ["z"]
    assert collect(store) == 1
    assert names(store) == []


def test_a_namespace_waits_for_a_pod_with_finalizers_without_asking_again(store: Any) -> None:
    store.create(R.NAMESPACES, "", {"metadata": {"name": "n"}})
    store.create(R.PODS, "n", pod(finalizers=["x.io/wait"]))
    store.delete(R.NAMESPACES, "", "n")
    assert store.age_garbage()
    assert [store.collect_garbage_step() for _ in range(3)] == [True, False, False]
    assert not store.age_garbage()
    store.patch(R.PODS, "n", "p", without_finalizers)
    collect(store)
    assert "n" not in names(store, R.NAMESPACES, "")


def test_without_its_controller_a_namespace_keeps_what_is_in_it(make_store: Any) -> None:
    store = make_store(empties_namespaces=False)
    store.create(R.NAMESPACES, "", {"metadata": {"name": "n"}})
    store.create(R.CONFIGMAPS, "n", {"metadata": {"name": "a"}})
    store.create(R.CONFIGMAPS, "n", {"metadata": {"name": "b", "finalizers": ["x/1"]}})
    store.delete(R.NAMESPACES, "", "n")
    store.delete(R.CONFIGMAPS, "n", "b")
    collect(store)
    assert store.get(R.NAMESPACES, "", "n").deleting
    assert names(store, namespace="n") == ["a", "b"]

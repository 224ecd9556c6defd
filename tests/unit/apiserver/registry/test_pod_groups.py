"""PodGroups: what is dropped, what is refused, and what keeps a group that is deleted.

The answers are those of kube-apiserver 1.36.3 with the gates on.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.apiserver.registry import object_deletion
from harness.apiserver.registry import store as stores
from harness.apiserver.registry.strategies import small_kinds
from harness.apiserver.scheme import feature_gates, resources

Document = dict[str, Any]
CLAIM = {"name": "gpu", "resourceClaimTemplateName": "t"}
AT_ONCE = object_deletion.DeleteOptions(grace_period_s=0)


@pytest.fixture(autouse=True)
def gates() -> Iterator[None]:
    feature_gates.choose(feature_gates.parse("GenericWorkload=true,DRAWorkloadResourceClaims=true"))
    yield
    feature_gates.choose(feature_gates.DEFAULTS)


def group(name: str = "g", **spec: Any) -> Document:
    return {"metadata": {"name": name}, "spec": {"schedulingPolicy": {"basic": {}}, **spec}}


def create(store: stores.Store, document: Document) -> Document:
    return store.create(resources.POD_GROUPS, "default", document).document()


def member(store: stores.Store, name: str, of: str = "g") -> None:
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "schedulingGroup": {"podGroupName": of},
    }
    store.create(resources.PODS, "default", {"metadata": {"name": name}, "spec": spec})


def test_a_group_with_its_claims(store: stores.Store) -> None:
    made = create(store, group(resourceClaims=[CLAIM], priority=3, priorityClassName="x"))
    assert made["metadata"]["finalizers"] == [small_kinds.PROTECTION]
    assert made["spec"] == {
        "schedulingPolicy": {"basic": {}},
        "resourceClaims": [CLAIM],
        "disruptionMode": "Pod",
    }


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"schedulingPolicy": {}}, "spec.schedulingPolicy: Invalid value"),
        (
            {"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}},
            "spec.schedulingPolicy: Invalid value",
        ),
        ({"schedulingPolicy": {"gang": {}}}, "spec.schedulingPolicy.gang.minCount: Required value"),
        ({"resourceClaims": [CLAIM] * 5}, "Too many: 5: must have at most 4 items"),
        (
            {"resourceClaims": [{"name": "a"}]},
            "spec.resourceClaims[0]: Invalid value",
        ),
        ({"resourceClaims": [CLAIM, CLAIM]}, "spec.resourceClaims[1]: Duplicate value"),
    ],
)
def test_what_is_refused(
    store: stores.Store, refuses: Callable[..., Any], spec: Document, text: str
) -> None:
    with refuses(422, "Invalid", text):
        create(store, group(**spec))


def test_the_spec_stays(store: stores.Store, refuses: Callable[..., Any]) -> None:
    made = create(store, group(resourceClaims=[CLAIM]))
    made["spec"]["resourceClaims"] = []
    with refuses(422, "Invalid", "spec.resourceClaims: Invalid value: []: field is immutable"):
        store.update(resources.POD_GROUPS, "default", "g", made)


def test_a_recorded_claim_is_of_an_entry(store: stores.Store, refuses: Callable[..., Any]) -> None:
    made = create(store, group(resourceClaims=[CLAIM]))
    made["status"] = {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "c"}]}
    with refuses(422, "Invalid", "must match the name of an entry in `spec.resourceClaims`"):
        store.update(resources.POD_GROUPS, "default", "g", made, subresource="status")


def test_a_deleted_group_stays_until_its_pods_have_ended(store: stores.Store) -> None:
    create(store, group())
    create(store, group("other"))
    for name, of in (("one", "g"), ("two", "g"), ("stranger", "other")):
        member(store, name, of)
    store.delete(resources.POD_GROUPS, "default", "g")
    store.collect_garbage()
    one = store.get(resources.PODS, "default", "one").document()
    one["status"]["phase"] = "Failed"
    store.update(resources.PODS, "default", "one", one, subresource="status")
    store.collect_garbage()
    assert store.get(resources.POD_GROUPS, "default", "g").deleting
    store.delete(resources.PODS, "default", "two", AT_ONCE)
    store.collect_garbage()
    assert not store.has(resources.POD_GROUPS, "default", "g")
    assert store.has(resources.POD_GROUPS, "default", "other")


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ({}, "spec.schedulingGroup.podGroupName: Required value"),
        ({"podGroupName": "G_"}, "G_"),
    ],
)
def test_a_pod_names_its_group(
    store: stores.Store, refuses: Callable[..., Any], named: Document, text: str
) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGroup": named}
    with refuses(422, "Invalid", text):
        store.create(resources.PODS, "default", {"metadata": {"name": "p"}, "spec": spec})

"""The fields that each endpoint may write."""

import copy

import pytest

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources


def _with_status(store, resource, namespace, document, meta):
    made = store.create(resource, namespace, copy.deepcopy(document)).document()
    made["metadata"] |= meta
    stored = store.update(resource, namespace, made["metadata"]["name"], made, subresource="status")
    return stored.document()["metadata"]


POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
NODE = {"metadata": {"name": "a"}}
CLAIM = {
    "metadata": {"name": "a"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}


@pytest.mark.parametrize(
    ("resource", "namespace", "document", "meta", "kept"),
    [
        (resources.PODS, "default", POD, {"labels": {"a": "b"}}, True),
        (resources.PODS, "default", POD, {"ownerReferences": [OWNER]}, False),
        (resources.NODES, "", NODE, {"annotations": {"a": "b"}}, True),
        (resources.CLAIMS, "default", CLAIM, {"labels": {"a": "b"}}, False),
        (resources.CLAIMS, "default", CLAIM, {"finalizers": ["example.com/f"]}, False),
    ],
)
def test_metadata_of_a_write_of_the_status(store, resource, namespace, document, meta, kept):
    after = _with_status(store, resource, namespace, document, meta)

    assert (after.items() >= meta.items()) == kept


def test_a_gated_pod_says_so(store):
    pod = copy.deepcopy(POD)
    pod["spec"]["schedulingGates"] = [{"name": "example.com/g"}]
    status = store.create(resources.PODS, "default", pod).document()["status"]

    assert [item["reason"] for item in status["conditions"]] == ["SchedulingGated"]


def test_taints_of_devices_are_dated(store):
    device = {"name": "d", "taints": [{"key": "k", "effect": "NoSchedule"}]}
    spec = {
        "driver": "driver.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [device],
    }
    made = store.create(resources.SLICES, "", {"metadata": {"name": "s"}, "spec": spec}).document()

    assert "timeAdded" in made["spec"]["devices"][0]["taints"][0]


def test_only_a_deletion_says_that_an_object_ends(store):
    made = store.create(resources.CONFIGMAPS, "default", {"metadata": {"name": "c"}})
    document = copy.deepcopy(made.document())
    document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    with pytest.raises(status_errors.StatusError) as refused:
        store.update(resources.CONFIGMAPS, "default", "c", document)

    causes = (refused.value.details or {})["causes"]
    assert {cause["field"] for cause in causes} == {"metadata.deletionTimestamp"}

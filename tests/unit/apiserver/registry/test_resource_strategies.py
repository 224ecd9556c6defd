"""The fields that each endpoint may write."""

import copy

import pytest

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

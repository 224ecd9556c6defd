"""OpenAPI documents: what they say of operations."""

import collections

import pytest

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import discovery, openapi
from harness.apiserver.scheme import resources

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
POD = "/api/v1/namespaces/{namespace}/pods/{name}"


def paths(root):
    return json_codec.decode(openapi.document(root))["paths"]


def test_the_paths_of_a_resource():
    found = paths("apis/resource.k8s.io/v1")
    assert set(found[CLAIMS]) == {"get", "post", "delete"}
    assert set(found["/apis/resource.k8s.io/v1/resourceclaims"]) == {"get"}
    assert set(found[f"{CLAIMS}/{{name}}"]) == {"get", "put", "patch", "delete"}
    assert set(found[f"{CLAIMS}/{{name}}/status"]) == {"get", "put", "patch"}
    assert set(found["/apis/resource.k8s.io/v1/deviceclasses"]) == {"get", "post", "delete"}
    assert "/apis/resource.k8s.io/v1/namespaces/{namespace}/deviceclasses" not in found


def test_what_subresources_carry():
    found = paths("api/v1")
    evict, connect = found[f"{POD}/eviction"]["post"], found[f"{POD}/exec"]["post"]
    assert evict["operationId"] == "createCoreV1NamespacedPodEviction"
    assert evict["x-kubernetes-group-version-kind"] == {
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
    }
    assert connect["x-kubernetes-action"] == "connect"
    assert "get" not in found[f"{POD}/eviction"]


@pytest.mark.parametrize("group_version", resources.group_versions(), ids="/".join)
def test_every_operation_has_a_name_of_its_own(group_version):
    group, version = group_version
    found = paths(f"apis/{group}/{version}" if group else f"api/{version}")
    names = [operation["operationId"] for item in found.values() for operation in item.values()]
    assert max(collections.Counter(names).values()) == 1
    assert len(found) >= len(discovery.served(group, version))


def test_the_kinds_of_operations_are_defined():
    document = json_codec.decode(openapi.document("apis/apps/v1"))
    assert "io.k8s.api.autoscaling.v1.Scale" in document["components"]["schemas"]
    assert "io.k8s.api.apps.v1.DeploymentList" in document["components"]["schemas"]

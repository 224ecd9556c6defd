"""OpenAPI documents: what they say of operations."""

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import openapi

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
POD = "/api/v1/namespaces/{namespace}/pods/{name}"


def paths(root):
    return json_codec.decode(openapi.document(root))["paths"]


def test_the_paths_of_a_resource():
    found = paths("apis/resource.k8s.io/v1")
    assert set(found[CLAIMS]) == {"get", "post", "delete"}
    assert set(found[f"{CLAIMS}/{{name}}"]) == {"get", "put", "patch", "delete"}
    patch = found[f"{CLAIMS}/{{name}}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "ResourceClaim"
    assert set(found["/apis/resource.k8s.io/v1/deviceclasses"]) == {"get", "post", "delete"}
    assert "/apis/resource.k8s.io/v1/namespaces/{namespace}/deviceclasses" not in found

"""Bodies of requests and results of patches: what is pruned, warned of, and refused."""

import json

import pytest

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.serializer import request_objects

CONFIGMAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
UNKNOWN = CONFIGMAP | {"metadata": {"name": "c", "foo": 1}, "nonsense": {"x": 1}}
NAMED = ['unknown field "metadata.foo"', 'unknown field "nonsense"']


def read(body, resource=resources.CONFIGMAPS, directive=""):
    validation = request_objects.Validation(directive)
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return request_objects.read(
        request_objects.parse(text), resource, validation
    ), validation.warnings


def patched(document, directive=""):
    validation = request_objects.Validation(directive)
    result = request_objects.patched(document, resources.CONFIGMAPS, validation)
    return result, validation.warnings


def refusal(call, *args, code=400):
    with pytest.raises(status_errors.StatusError) as error:
        call(*args)
    assert error.value.code == code
    return error.value.message


def test_positions_in_lists_are_told():
    claim = {"spec": {"devices": {"requests": [{"name": "a"}, {"name": "b", "count": 1}]}}}
    _, warnings = read(claim, resources.CLAIMS)

    assert warnings == ['unknown field "spec.devices.requests[1].count"']


@pytest.mark.parametrize(
    "change", [{"kind": "Secret"}, {"apiVersion": "foo/v9"}, {"kind": 5}, {"apiVersion": "a/b/c"}]
)
def test_objects_of_another_kind(change):
    assert "expected ConfigMap of v1, got " in refusal(read, CONFIGMAP | change)
    assert "expected ConfigMap of v1, got " in refusal(patched, CONFIGMAP | change, code=422)


@pytest.mark.parametrize("body", [b'{"kind":', b"", b"// x\n{}", b"{} x", b"null", b"[]", b"\xff"])
def test_what_is_no_object(body):
    refusal(read, body)


def test_an_empty_object_is_one():
    assert read(b"{}") == ({"metadata": {}}, [])


def test_a_patched_object_that_is_none_is_invalid():
    assert "data: expected an object, got int" in refusal(patched, {"data": 1}, code=422)

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


@pytest.mark.parametrize("call", [read, patched])
def test_unknown_fields_are_pruned_and_named(call):
    assert call(UNKNOWN) == (CONFIGMAP, NAMED)


@pytest.mark.parametrize("call", [read, patched])
def test_ignore_is_silent(call):
    assert call(UNKNOWN, directive="Ignore") == (CONFIGMAP, [])


def test_strict_refuses_unknown_fields():
    why = f"strict decoding error: {', '.join(NAMED)}"
    assert why in refusal(read, UNKNOWN, resources.CONFIGMAPS, "Strict")
    assert why in refusal(patched, UNKNOWN, "Strict", code=422)


def test_positions_in_lists_are_told():
    claim = {"spec": {"devices": {"requests": [{"name": "a"}, {"name": "b", "count": 1}]}}}
    _, warnings = read(claim, resources.CLAIMS)

    assert warnings == ['unknown field "spec.devices.requests[1].count"']


@pytest.mark.parametrize(
    ("resource", "document", "path"),
    [
        (resources.PODS, {"spec": {"containers": "x"}}, "spec.containers"),
        (resources.PODS, {"spec": {"priority": 1.5}}, "spec.priority"),
        (
            resources.CLAIMS,
            {"spec": {"devices": {"requests": [{"name": 5}]}}},
            "spec.devices.requests.name",
        ),
        (resources.CONFIGMAPS, {"metadata": {"labels": "x"}}, "metadata.labels"),
        (resources.SLICES, {"spec": {"pool": "x"}}, "spec.pool"),
        (resources.SECRETS, {"data": {"a": "1"}}, "data"),
        (resources.PODS, {"spec": {"overhead": {"cpu": "lots"}}}, "spec.overhead"),
    ],
)
@pytest.mark.parametrize("directive", ["", "Ignore", "Strict"])
def test_wrong_types_are_always_refused(resource, document, path, directive):
    message = refusal(read, document, resource, directive)
    assert message.startswith(f"not a {resource.kind}: {path}: ")


@pytest.mark.parametrize(
    "change", [{"kind": "Secret"}, {"apiVersion": "foo/v9"}, {"kind": 5}, {"apiVersion": "a/b/c"}]
)
def test_objects_of_another_kind(change):
    assert "expected ConfigMap of v1, got " in refusal(read, CONFIGMAP | change)
    assert "expected ConfigMap of v1, got " in refusal(patched, CONFIGMAP | change, code=422)


@pytest.mark.parametrize("body", [b'{"kind":', b"", b"// x\n{}", b"{} x", b"null", b"[]", b"\xff"])
def test_what_is_no_object(body):
    refusal(read, body)


def test_what_is_too_deep():
    deep = b'{"a":' * 200_000 + b"1" + b"}" * 200_000
    assert refusal(request_objects.parse, deep) == "exceeded max depth"


def test_an_empty_object_is_one():
    assert read(b"{}") == ({"metadata": {}}, [])


def test_a_patched_object_that_is_none_is_invalid():
    assert "data: expected an object, got int" in refusal(patched, {"data": 1}, code=422)

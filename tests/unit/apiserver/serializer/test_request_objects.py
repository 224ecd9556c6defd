"""Bodies of requests, and what the real server says of those it does not like."""

import json

import pytest

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.serializer import request_objects, request_patches
from tests.support import cases

CONFIGMAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def read(body, resource=resources.CONFIGMAPS, directive=""):
    validation = request_objects.Validation(directive)
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return request_objects.read(text, resource, validation), validation.warnings


def refusal(body, resource=resources.CONFIGMAPS, directive=""):
    with pytest.raises(status_errors.StatusError) as error:
        read(body, resource, directive)
    assert error.value.code == 400
    return error.value.message


DUPLICATE = b'{"metadata":{"name":"c"},"data":{"a":"1","a":"2"}}'
UNKNOWN = CONFIGMAP | {"metadata": {"name": "c", "foo": 1}, "nonsense": {"x": 1}}


def test_unknown_fields_are_pruned_and_named():
    document, warnings = read(UNKNOWN)

    assert document == CONFIGMAP
    assert warnings == ['unknown field "metadata.foo"', 'unknown field "nonsense"']


def test_strict_refuses_unknown_fields():
    assert refusal(UNKNOWN, directive="Strict") == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "metadata.foo", unknown field "nonsense"'
    )


def test_ignore_is_silent():
    assert read(UNKNOWN, directive="Ignore") == (CONFIGMAP, [])


@pytest.mark.parametrize("space", [b"", b" ", b"\n\t "])
def test_duplicate_fields_are_found_however_they_are_written(space):
    body = DUPLICATE.replace(b":", space + b": ")
    document, warnings = read(body)

    assert document["data"] == {"a": "2"}
    assert warnings == ['duplicate field "data.a"']
    assert 'strict decoding error: duplicate field "data.a"' in refusal(body, directive="Strict")


def test_an_object_that_comes_twice_is_merged():
    document, warnings = read(b'{"metadata":{"name":"c"},"data":{"a":"1"},"data":{"b":"2"}}')

    assert document["data"] == {"a": "1", "b": "2"}
    assert warnings == ['duplicate field "data"']


def test_colons_and_quotes_in_strings_are_no_fields():
    body = CONFIGMAP | {"data": {"a": 'x": y: "z" :', "b": "c"}}

    assert read(body, directive="Strict") == (body, [])


def test_positions_in_lists_are_told():
    claim = {"spec": {"devices": {"requests": [{"name": "a"}, {"name": "b", "count": 1}]}}}
    _, warnings = read(claim, resources.CLAIMS)

    assert warnings == ['unknown field "spec.devices.requests[1].count"']


@pytest.mark.parametrize(("resource", "document", "why"), cases.read(__file__, "wrong_types"))
@pytest.mark.parametrize("directive", ["", "Ignore", "Strict"])
def test_wrong_types_are_always_refused(resource, document, why, directive):
    resource = getattr(resources, resource.upper())
    kind = resource.kind
    message = f'{kind} in version "v1" cannot be handled as a {kind}: {why}'
    assert refusal(document, resource, directive) == message


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (
            {"apiVersion": "foo/v9"},
            'no kind "ConfigMap" is registered for version "foo/v9" in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"',
        ),
        ({"kind": "Secret", "data": {"a": "1"}}, "illegal base64 data at input byte 0"),
    ],
)
def test_objects_of_another_kind(body, why):
    assert refusal(body).endswith(f" cannot be handled as a ConfigMap: {why}")


def test_an_object_of_another_version_of_its_kind():
    claim = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim"}
    assert refusal(claim, resources.CLAIMS) == (
        "the API version in the data (resource.k8s.io/v1beta1) does not match the expected "
        "API version (resource.k8s.io/v1)"
    )


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (b'{"kind":', 'json parse error: Expecting value: line 1 column 9 (char 8) ({"kind":)'),
        (b"", "json parse error: Expecting value: line 1 column 1 (char 0) (<empty>)"),
        (b"// x\n{}", "Expecting value: line 1 column 1 (char 0) (2f2f20780a7b7d)"),
        (
            b'{"kind":"ConfigMap","apiVersion":"v1"} x',
            'Extra data: line 1 column 40 (char 39) ({"kind":"ConfigMap","apiVersio ...)',
        ),
        (
            b'{"kind":5}',
            'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})',
        ),
        (
            b'{"apiVersion":"a/b/c"}',
            'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})',
        ),
    ],
)
def test_what_is_no_object(body, end):
    message = refusal(body)

    assert message.startswith("the object provided is unrecognized (must be of type ConfigMap)")
    assert message.endswith(end)


def test_null_and_an_empty_object_are_empty():
    assert read(b"null") == read(b"{}") == ({"metadata": {}}, [])


def test_half_a_surrogate_pair_is_replaced():
    document, _ = read(rb'{"data":{"a":"\ud800","b":"\ud83d\ude00","c":"\\ud800"}}')

    assert document["data"] == {"a": "\N{REPLACEMENT CHARACTER}", "b": "😀", "c": "\\ud800"}


# ------------------------------------------------------------------ patches


def _patched(document, directive="", problems=()):
    validation = request_objects.Validation(directive)
    return (
        request_patches.patched(document, resources.CONFIGMAPS, validation, list(problems)),
        validation.warnings,
    )


def test_a_patched_object_is_pruned():
    assert _patched(UNKNOWN) == (
        CONFIGMAP,
        ['unknown field "metadata.foo"', 'unknown field "nonsense"'],
    )


@pytest.mark.parametrize(
    ("document", "directive", "why"),
    [
        (UNKNOWN, "Strict", "strict decoding error: p, unknown field"),
        ({"data": 1}, "", "json: cannot unmarshal number into Go struct field ConfigMap.data"),
    ],
)
def test_a_patched_object_that_is_none_is_invalid(document, directive, why):
    with pytest.raises(status_errors.StatusError) as error:
        _patched(document, directive, ["p"])

    assert (error.value.code, error.value.reason) == (422, "Invalid")
    assert error.value.message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert why in error.value.message


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "Secret", "data": {"a": "1"}}, "illegal base64 data at input byte 0"),
        ({"kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        ({"apiVersion": "v2"}, 'no kind "ConfigMap" is registered for version "v2" in scheme'),
        ({"kind": 5}, "cannot unmarshal number into Go struct field .kind of type string"),
    ],
)
def test_a_patch_of_the_text_cannot_change_the_kind(change, why):
    changed = CONFIGMAP | change
    with pytest.raises(status_errors.StatusError) as error:
        request_patches.patched(
            changed, resources.CONFIGMAPS, request_objects.Validation(), [], is_text=True
        )

    assert error.value.code == 422
    assert why in error.value.message


@pytest.mark.parametrize(
    ("patch", "problems"),
    [
        (b'{"a":1}', []),
        (b'{"a":1,"a":2}', ['duplicate field "a"']),
        (b'[{"op":"add","op":"add"}]', ['json patch duplicate field "[0].op"']),
        (b'[{"op":"add","foo":1}]', ['json patch unknown field "[0].foo"']),
    ],
)
def test_problems_of_patches(patch, problems):
    assert request_patches.decode(patch, request_objects.Validation())[1] == problems
    assert request_patches.decode(patch, request_objects.Validation("Ignore"))[1] == []


def test_a_patch_that_is_no_json():
    with pytest.raises(status_errors.StatusError, match=r"^Expecting property name"):
        request_patches.decode(b"{", request_objects.Validation())
    with pytest.raises(status_errors.StatusError, match=r"^error decoding patch: Expecting"):
        request_patches.decode(b"{", request_objects.Validation(), is_text=True)


def test_a_patch_with_half_a_surrogate_pair():
    assert request_patches.decode(rb'{"a":"\ud800"}', request_objects.Validation())[0] == {
        "a": "\N{REPLACEMENT CHARACTER}"
    }


def test_a_patch_that_is_too_deep():
    deep = b'{"a":' * 200_000 + b"1" + b"}" * 200_000
    with pytest.raises(status_errors.StatusError, match="exceeded max depth"):
        request_patches.decode(deep, request_objects.Validation())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ud83d\ude00\ude00", "\U0001f600\ufffd"),
        (rb"\ud83d\ud83d\ude00\ud83d", "\ufffd\U0001f600\ufffd"),
        (rb"\ud800\ud800\udc00x\udc00\udc00", "\ufffd\U00010000x\ufffd\ufffd"),
        (rb"\\ud800\ud800", r"\ud800" + "\ufffd"),
        (rb"\\\\\ud800\\", "\\\\\ufffd\\"),
    ],
)
def test_halves_of_surrogate_pairs_in_a_row(text, expected):
    body = b'{"a":"' + text + rb'","b":"\ud800"}'
    assert request_patches.decode(body, request_objects.Validation())[0] == {
        "a": expected,
        "b": "\ufffd",
    }

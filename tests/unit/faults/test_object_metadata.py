"""The metadata that carriers read, judged by the API server's own encoders."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.faults import object_metadata
from tests.support import protobuf_messages

POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {
        "name": "a",
        "generateName": "generated-",
        "namespace": "n",
        "uid": "u-1",
        "resourceVersion": "123",
        "generation": 3,
        "creationTimestamp": "2026-01-31T23:59:59Z",
        "labels": {"x": "y"},
        "annotations": {"p": "q"},
        "finalizers": ["f"],
        "managedFields": [{"manager": "m", "time": "2026-01-31T23:59:59Z"}],
    },
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
OF_POD = object_metadata.Metadata(name="a", namespace="n", uid="u-1", resource_version="123")
POD_LIST = {
    "kind": "PodList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "77", "continue": "more"},
    "items": [POD],
}


@pytest.mark.parametrize(
    "encode", [lambda item: json.dumps(item).encode(), protobuf_messages.encode]
)
def test_of_an_object_and_of_a_list(encode: Any) -> None:
    assert object_metadata.of_body(encode(POD)) == OF_POD
    of_list = object_metadata.of_body(encode(POD_LIST))
    assert of_list == object_metadata.Metadata(resource_version="77")
    assert of_list is not None
    assert of_list.version == 77


def test_of_a_compressed_body() -> None:
    body = gzip.compress(protobuf_messages.encode(POD))
    assert object_metadata.of_body(body, content_encoding="gzip") == OF_POD


def test_of_a_failure() -> None:
    meta = {"continue": "more"}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": meta, "status": "Failure"}
    for body in (json.dumps(status).encode(), protobuf_messages.encode(status)):
        assert object_metadata.of_body(body) == object_metadata.Metadata()


@pytest.mark.parametrize(
    "body", [None, b"", b"{", b"[]", b'{"metadata": 1}', b"k8s\x00\xff\xff", b"\xff" * 20]
)
def test_of_no_object(body: bytes | None) -> None:
    assert object_metadata.of_body(body) is None
    assert object_metadata.of_body(body, content_encoding="gzip") is None


def test_a_version_that_is_no_number_is_unknown() -> None:
    assert object_metadata.Metadata(resource_version="x").version == 0


@given(data=st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    object_metadata.of_body(b"k8s\x00" + data)
    object_metadata.of_body(data)


@given(cut=st.integers(0, 400), flip=st.integers(0, 255))
def test_no_damaged_object_raises(cut: int, flip: int) -> None:
    body = bytearray(protobuf_messages.encode(POD))
    at = min(cut, len(body) - 1)
    body[at] ^= flip
    object_metadata.of_body(bytes(body))
    object_metadata.of_body(bytes(body[:at]))

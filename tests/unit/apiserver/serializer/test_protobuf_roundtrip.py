"""Messages against those that Kubernetes compares its own with: every field of every kind set, as
JSON and as protobuf.

`roundtrip.jsonl.gz` has the files testdata/HEAD of k8s.io/api 0.36.4 for the kinds that the server
knows. Copyright The Kubernetes Authors, Apache License 2.0.
"""

import base64
import gzip
import json
import pathlib
from typing import Any

import pytest

from harness.apiserver.serializer import protobuf
from tests.support import protobuf_messages

LINES = gzip.decompress(pathlib.Path(__file__).with_name("roundtrip.jsonl.gz").read_bytes())
PAIRS = [
    (pair["object"], base64.b64decode(pair["message"]))
    for pair in map(json.loads, LINES.splitlines())
]
NAMES = [f"{document['apiVersion']}.{document['kind']}" for document, _ in PAIRS]


def test_there_are_enough() -> None:
    assert len(PAIRS) > 70
    assert {"v1.Pod", "v1.Node", "resource.k8s.io/v1.ResourceClaim"} <= set(NAMES)


@pytest.mark.parametrize(("document", "message"), PAIRS, ids=NAMES)
def test_what_go_wrote_is_read(document: dict[str, Any], message: bytes) -> None:
    assert protobuf.document(message) == document


@pytest.mark.parametrize(("document", "message"), PAIRS, ids=NAMES)
def test_what_is_written_is_what_go_writes(document: dict[str, Any], message: bytes) -> None:
    """Byte for byte, but for the order of fields, of which protobuf does not care."""
    written = protobuf_messages.encode(document)
    assert protobuf.document(written) == document
    assert sorted(written) == sorted(message)

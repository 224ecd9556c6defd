"""Answers of the proxy itself, read by the API server's own decoder."""

import json

from harness.apiserver.serializer import protobuf
from harness.fault_proxy import object_metadata, statuses, watch_frames

GONE = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "too old resource version: 41 (42)",
    "reason": "Expired",
    "code": 410,
}


def test_an_expired_watch() -> None:
    assert statuses.expired(42) == GONE
    assert statuses.expired(0)["message"] == "too old resource version: 0 (0)"


def test_a_failure_tells_when_to_try_again() -> None:
    status = statuses.failure(429, "TooManyRequests", "later", retry_after_s=3)
    assert json.loads(statuses.body(status))["details"] == {"retryAfterSeconds": 3}


def test_an_error_in_json_lines() -> None:
    line = statuses.error_frame(GONE, watch_frames.JsonLines())
    assert line.endswith(b"\n")
    assert json.loads(line) == {"type": "ERROR", "object": GONE}


def test_an_error_in_protobuf() -> None:
    status = statuses.failure(410, "Expired", "gone é", retry_after_s=300)
    frame = statuses.error_frame(status, watch_frames.ProtobufFrames())
    assert watch_frames.ProtobufFrames().whole_bytes(frame) == len(frame)
    event = object_metadata.read(frame[4:])
    assert event[1] == b"ERROR"
    assert protobuf.document(object_metadata.read(event[2])[1]) == status

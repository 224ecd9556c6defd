"""The framings of a watch, however its bytes arrive."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import protobuf_wire
from harness.apiserver.serializer import protobuf
from harness.fault_proxy import statuses, watch_frames
from harness.faults import object_metadata
from tests.support import protobuf_messages

MESSAGES = st.lists(st.binary(max_size=300).map(lambda data: data.replace(b"\n", b"")), max_size=8)


def as_lines(messages: list[bytes]) -> list[bytes]:
    return [message + b"\n" for message in messages]


def as_frames(messages: list[bytes]) -> list[bytes]:
    return [watch_frames.with_length(message) for message in messages]


@pytest.mark.parametrize(
    ("framing", "framed"),
    [(watch_frames.JsonLines(), as_lines), (watch_frames.ProtobufFrames(), as_frames)],
)
@given(messages=MESSAGES, size=st.integers(1, 50))
def test_pieces_of_any_size_become_the_same_frames(
    framing: watch_frames.Framing, framed: object, messages: list[bytes], size: int
) -> None:
    frames = framed(messages)  # type: ignore[operator]
    data, rest, found = b"".join(frames), b"", []
    for at in range(0, len(data), size):
        rest += data[at : at + size]
        ends = [0, *framing.ends(rest)]
        found += [rest[start:end] for start, end in itertools.pairwise(ends)]
        rest = rest[ends[-1] :]
    assert (found, rest) == (frames, b"")


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("application/json", watch_frames.JsonLines),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", watch_frames.JsonLines),
        ("application/vnd.kubernetes.protobuf;stream=watch", watch_frames.ProtobufFrames),
        ("application/vnd.kubernetes.protobuf", watch_frames.ProtobufFrames),
        ("application/cbor-seq", watch_frames.Framing),
        ("application/json-seq", watch_frames.Framing),
        ("application/vnd.kubernetes.protobuf2", watch_frames.Framing),
        ("", watch_frames.Framing),
    ],
)
def test_the_content_type_tells_the_framing(content_type: str, kind: type) -> None:
    assert isinstance(watch_frames.of_content_type(content_type), kind)


def test_an_unknown_framing_passes_what_arrives() -> None:
    assert watch_frames.Framing().ends(b"abc") == [3]


POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "a", "namespace": "n", "uid": "u-1", "resourceVersion": "123"},
}
GONE = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "too old resource version: 41 (42)",
    "reason": "Expired",
    "code": 410,
}


def test_events_are_read() -> None:
    meta = object_metadata.Metadata(name="a", namespace="n", uid="u-1", resource_version="123")
    line = json.dumps({"type": "MODIFIED", "object": POD}).encode() + b"\n"
    frame = protobuf_messages.event_frame("MODIFIED", protobuf_messages.encode(POD))
    assert watch_frames.JsonLines().read(line) == ("MODIFIED", meta)
    assert watch_frames.ProtobufFrames().read(frame) == ("MODIFIED", meta)


@given(data=st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    watch_frames.JsonLines().read(data)
    watch_frames.ProtobufFrames().read(watch_frames.with_length(data))


def test_a_watch_that_is_gone_is_told_so_in_its_framing() -> None:
    assert statuses.expired(42) == GONE
    line = watch_frames.JsonLines().error(GONE)
    assert json.loads(line) == {"type": "ERROR", "object": GONE}
    frame = watch_frames.ProtobufFrames().error(GONE)
    assert watch_frames.ProtobufFrames().ends(frame) == [len(frame)]
    event = protobuf_wire.parts(frame[4:])
    assert event[1] == b"ERROR"
    assert protobuf.document(protobuf_wire.first(event[2], 1)) == GONE

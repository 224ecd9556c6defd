"""The framings of a watch, however its bytes arrive."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fault_proxy import watch_frames

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


@given(data=st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    watch_frames.JsonLines().read(data)
    watch_frames.ProtobufFrames().read(watch_frames.with_length(data))

"""How many values a JSON body may have."""

from typing import Any

import pytest

from harness.apiserver.errors import status_errors
from harness.apiserver.serializer import json_bodies

MAX = json_bodies.VALUES_MAX


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":[' + b"0," * MAX + b"0]}",
        b'{"a":[' + b"[]," * MAX + b"0]}",
        b"{" + b'"a":1,' * MAX + b'"a":1}',
        b'{"a":' + b"[" * 500 + b"]" * 500 + (b"[" * 500 + b"]" * 500) * (MAX // 500),
        b' {"' + b'\\"' * 1000 + b'"' + b",0" * (MAX + 1),
    ],
)
def test_too_many_values_are_refused(refuses: Any, body: bytes) -> None:
    with refuses(413, "RequestEntityTooLarge", f"at most {MAX} values"):
        json_bodies.decode(body)


@pytest.mark.parametrize(
    "text", [b"," * (2 * MAX), b"[{" * MAX, b'\\",' * MAX, b"\\\\" * MAX + b",", b'\\\\\\",' * MAX]
)
def test_texts_may_say_what_they_like(text: bytes) -> None:
    assert json_bodies.decode(b'{"a":"' + text + b'"}')


def test_as_many_as_are_allowed_are_read(refuses: Any) -> None:
    assert len(json_bodies.decode(b'{"a":[' + b"0," * (MAX - 2) + b"0]}")["a"]) == MAX - 1
    operations = b"[" + b",".join([b'{"op":"test","path":"","value":1}'] * 9_999) + b"]"
    assert len(json_bodies.decode(operations)) == 9_999
    with refuses(413, "RequestEntityTooLarge", "at most 40000 values"):
        json_bodies.decode(operations.replace(b":1", b":[1]"))


def test_what_is_too_deep_is_said_to_be_too_deep() -> None:
    with pytest.raises(RecursionError):
        json_bodies.decode(b'{"a":' * 200_000 + b"1" + b"}" * 200_000)


def test_a_caller_may_allow_fewer_values() -> None:
    limit = json_bodies.MERGED_VALUES_MAX
    body = b'{"a":[' + b"0," * (limit - 2) + b"0]}"
    assert len(json_bodies.decode(body, values_max=limit)["a"]) == limit - 1
    with pytest.raises(status_errors.StatusError, match=f"at most {limit} values"):
        json_bodies.decode(body.replace(b"[", b"[[[").replace(b"]", b"]]]"), values_max=limit)

"""Messages of Go's JSON decoder."""

import pytest

from harness.apiserver.codec import json_codec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"kind":', "unexpected end of JSON input"),
        (b'{"kind": "x', "unexpected end of JSON input"),
        (b"", "unexpected end of JSON input"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"// x\n{}", "invalid character '/' looking for beginning of value"),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b":2}', "invalid character '\\\"' after object key:value pair"),
        (b'{"a":[1 2]}', "invalid character '2' after array element"),
        (b'{"a":"[" "b":2}', "invalid character '\\\"' after object key:value pair"),
        (b'{"a":NaN}', "invalid character 'N' looking for beginning of value"),
        (b"[" * 20_000, "exceeded max depth"),
        (b'{"a": 1}', ""),
    ],
)
def test_messages(text, message):
    assert json_codec.error(text) == message

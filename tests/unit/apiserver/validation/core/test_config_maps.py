"""ConfigMaps."""

import base64
from typing import Any

from harness.apiserver.validation.core import small_kinds


def test_keys_and_size_of_config_maps(fields: Any) -> None:
    wrong = {"data": {"a b": "", "c": ""}, "binaryData": {"c": ""}}
    assert fields(small_kinds.config_map(wrong)) == [
        ("data[a b]", "Invalid"),
        ("data[c]", "Invalid"),
    ]
    half = 512 * 1024
    binary = base64.b64encode(bytes(half)).decode()
    full = {"data": {"a": "x" * half}, "binaryData": {"b": binary}}
    assert fields(small_kinds.config_map(full)) == []
    full["data"]["c"] = "x"
    assert fields(small_kinds.config_map(full)) == [("[]", "TooLong")]

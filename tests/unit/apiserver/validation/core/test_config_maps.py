"""ConfigMaps and Secrets."""

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


def test_immutable_config_maps_and_secrets(fields: Any) -> None:
    old = {"immutable": True, "data": {"a": "MQ=="}, "type": "Opaque"}
    new = {"data": {"a": "Mg=="}, "type": "other"}
    assert fields(small_kinds.config_map_change(new, old)) == [
        ("immutable", "Forbidden"),
        ("data", "Forbidden"),
    ]
    assert fields(small_kinds.secret_change(new, old)) == [
        ("type", "Invalid"),
        ("immutable", "Forbidden"),
        ("data", "Forbidden"),
    ]
    assert fields(small_kinds.config_map_change(old, old)) == []

"""OpenAPI version 2 in protobuf, for kubectl before 1.29."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.apiserver.codec import json_codec, protobuf_wire
from harness.apiserver.endpoints import openapi, openapi_protobuf

KEYWORDS = {
    "$ref", "format", "description", "required", "additionalProperties", "type", "items", "properties",
}  # fmt: skip
"""Those that are encoded, beside what begins with x-."""


def parts(message: bytes, *path: int) -> Iterator[Any]:
    for number, value in protobuf_wire.read(message):
        if number == path[0]:
            yield from parts(value, *path[1:]) if len(path) > 1 else [value]


def schemas_in(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    children = [*node.get("properties", {}).values()]
    children += [node[name] for name in ("items", "additionalProperties") if name in node]
    for child in children:
        yield from schemas_in(child)


def test_a_document_byte_for_byte() -> None:
    """The bytes are gnostic's OpenAPIv2.proto by hand: Document, Info, Definitions, NamedSchema,
    Schema, Properties, NamedAny, Any.
    """
    schema = {
        "description": "d",
        "required": ["p"],
        "properties": {"p": {"type": "array", "items": {"$ref": "r"}}},
        "x-k": 1,
    }
    made = openapi_protobuf.encode(
        {
            "swagger": "2.0",
            "info": {"title": "t", "version": "v"},
            "paths": {},
            "definitions": {"N": schema},
        }
    )
    items = b"\xba\x01\x05" + b"\x0a\x03" + b"\x0a\x01r"
    listed = b"\xb2\x01\x07" + b"\x0a\x05array" + items
    named = b"\x0a\x01p" + b"\x12" + bytes([len(listed)]) + listed
    properties = b"\x0a" + bytes([len(named)]) + named
    extension = b"\xfa\x01\x0a" + b"\x0a\x03x-k" + b"\x12\x03" + b"\x12\x011"
    body = b"\x22\x01d\x9a\x01\x01p\xca\x01" + bytes([len(properties)]) + properties + extension
    entry = b"\x0a\x01N" + b"\x12" + bytes([len(body)]) + body
    definitions = b"\x0a" + bytes([len(entry)]) + entry
    expected = b"\x0a\x032.0" + b"\x12\x06\x0a\x01t\x12\x01v" + b"\x42\x00" + b"\x4a"
    assert made == expected + bytes([len(definitions)]) + definitions


def test_operations_say_that_the_server_validates_fields() -> None:
    """Fields that kubectl looks for: Paths.path, NamedPathItem.value, PathItem.post,
    Operation.parameters, …, QueryParameterSubSchema.name.
    """
    document = openapi.document_2(as_protobuf=True)
    paths = json_codec.decode(openapi.document_2())["paths"]
    assert [name.decode() for name in parts(document, 8, 2, 1)] == list(paths)
    posts = sum("post" in item for item in paths.values())
    names = list(parts(document, 8, 2, 2, 4, 8, 1, 2, 3, 4))
    assert names.count(b"fieldValidation") == names.count(b"dryRun") == posts > 10
    kinds = list(parts(document, 8, 2, 2, 4, 13, 1))
    assert kinds.count(b"x-kubernetes-group-version-kind") == posts


def test_no_keyword_of_a_definition_is_lost() -> None:
    definitions = json_codec.decode(openapi.document_2())["definitions"]
    found = {key for node in definitions.values() for part in schemas_in(node) for key in part}
    assert {key for key in found if not key.startswith("x-")} <= KEYWORDS
    document = openapi.document_2(as_protobuf=True)
    assert [name.decode() for name in parts(document, 9, 1, 1)] == list(definitions)


def test_who_asks_for_protobuf_gets_it(live: Any) -> None:
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    status, body = live.call("GET", "/openapi/v2", headers={"Accept": accept})
    assert (status, body) == (200, openapi.document_2(as_protobuf=True))
    assert live.call("GET", "/openapi/v2")[1]["swagger"] == "2.0"

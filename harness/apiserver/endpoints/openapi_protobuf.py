"""OpenAPI version 2 in the protobuf encoding of google/gnostic, for kubectl before 1.29.

Field numbers after gnostic's openapiv2/OpenAPIv2.proto (commit 96635ff), in which a map is a list
of named values, and a value of any type is YAML text. Only the keywords of this server's own
documents are encoded.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.apiserver.codec import json_codec, protobuf_wire

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
Node = Mapping[str, Any]
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_SCHEMA_TEXTS = {"$ref": 1, "format": 2, "description": 4}


def encode(document: Node) -> bytes:
    """Encode a document as an `openapi.v2.Document` message."""
    info = _texts(document["info"], {"title": 1, "version": 2})
    return (
        protobuf_wire.text(1, document["swagger"])
        + protobuf_wire.data(2, info)
        + protobuf_wire.data(8, _named(2, document["paths"], _path_item))
        + protobuf_wire.data(9, _named(1, document["definitions"], _schema))
    )


def _named(number: int, values: Node, encode_value: Callable[[Any], bytes]) -> bytes:
    """Encode a map as repeated messages of a name (1) and a value (2)."""
    return b"".join(
        protobuf_wire.data(
            number, protobuf_wire.text(1, name) + protobuf_wire.data(2, encode_value(value))
        )
        for name, value in values.items()
    )


def _texts(node: Node, numbers: Mapping[str, int]) -> bytes:
    return b"".join(
        protobuf_wire.text(number, node[name]) for name, number in numbers.items() if name in node
    )


def _any(value: Any) -> bytes:
    """Encode a value as the YAML of an `openapi.v2.Any`; JSON is valid YAML."""
    return protobuf_wire.data(2, json_codec.encode(value))


def _extensions(number: int, node: Node) -> bytes:
    return _named(number, {name: node[name] for name in node if name.startswith("x-")}, _any)


# ------------------------------------------------------------------ operations


def _path_item(node: Node) -> bytes:
    return b"".join(
        protobuf_wire.data(_METHODS[method], _operation(node[method])) for method in node
    )


def _operation(node: Node) -> bytes:
    parameters = (_parameter(parameter) for parameter in node.get("parameters", ()))
    return (
        protobuf_wire.text(5, node["operationId"])
        + b"".join(protobuf_wire.data(8, parameter) for parameter in parameters)
        + protobuf_wire.data(9, _named(1, node["responses"], _response))
        + _extensions(13, node)
    )


def _response(node: Node) -> bytes:
    """Encode a `ResponseValue` that is a `Response` (1)."""
    return protobuf_wire.data(1, _texts(node, {"description": 1}))


def _parameter(node: Node) -> bytes:
    """Encode a `ParametersItem`: a parameter (1) outside the body (2) in the query (3)."""
    inner = _texts(node, {"in": 2, "description": 3, "name": 4, "type": 6})
    inner += protobuf_wire.integer(20, node.get("uniqueItems", False))
    return protobuf_wire.data(1, protobuf_wire.data(2, protobuf_wire.data(3, inner)))


# ------------------------------------------------------------------ schemas


def _schema(node: Node) -> bytes:
    return _texts(node, _SCHEMA_TEXTS) + b"".join(_schema_parts(node)) + _extensions(31, node)


def _schema_parts(node: Node) -> Iterator[bytes]:
    yield from (protobuf_wire.text(19, name) for name in node.get("required", ()))
    if "additionalProperties" in node:
        yield protobuf_wire.data(21, protobuf_wire.data(1, _schema(node["additionalProperties"])))
    if "type" in node:
        yield protobuf_wire.data(22, protobuf_wire.text(1, node["type"]))
    if "items" in node:
        yield protobuf_wire.data(23, protobuf_wire.data(1, _schema(node["items"])))
    if "properties" in node:
        yield protobuf_wire.data(25, _named(1, node["properties"], _schema))

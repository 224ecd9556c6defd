"""The checked syntax tree of a CEL expression, decoded from a serialized `cel.expr.CheckedExpr`.

The binding exposes the tree as bytes only. The decoder supports the part of the protocol buffers
wire format that these messages use.
"""

import dataclasses
from collections.abc import Collection, Iterator
from typing import Literal

Kind = Literal["constant", "identifier", "selection", "call", "list", "map", "comprehension"]
_KINDS: dict[int, Kind] = {
    3: "constant",
    4: "identifier",
    5: "selection",
    6: "call",
    7: "list",
    8: "map",
    9: "comprehension",
}
_TYPES: dict[int, str] = {1: "dyn", 6: "list", 7: "map", 9: "struct", 14: "opaque"}
_PRIMITIVE, _TEXTS = 3, (5, 6)
"""The field number of primitive types, and the numbers of string and bytes."""
_SIZED_CONSTANTS = (6, 7)
"""The field numbers of string and bytes constants."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSelection:
    """A selection of a field, and its offset in the expression, in characters."""

    name: str
    offset: int


@dataclasses.dataclass(slots=True)
class Node:
    """A node of the syntax tree."""

    id: int
    kind: Kind
    name: str = ""
    """The name of an identifier, field or function; the variable of a comprehension."""
    children: "list[Node]" = dataclasses.field(default_factory=list)
    """The operand of a selection; the target and the arguments of a call; the parts of a
    comprehension in the order of evaluation: range, start, condition, step, result."""
    is_member: bool = False
    """True for a call with a target, which is the first child."""
    is_test: bool = False
    """True for a selection that is a `has()` test."""
    size: int | None = None
    """The length of a string or bytes constant, or of a list or map literal; else None."""
    type: str = ""
    """The kind of type: scalar, text (string or bytes), list, map, struct, opaque or dyn."""
    offset: int = 0
    """The position in the expression, in characters."""

    def walk(self) -> "Iterator[Node]":
        """Yield this node and all its descendants."""
        yield self
        for child in self.children:
            yield from child.walk()


def read(data: bytes) -> Node:
    """Decode the tree of a serialized expression (a CheckedExpr in a `google.protobuf.Any`)."""
    checked = _fields(_message(_fields(data), 2))
    types = dict(_entry(item) for item in checked.get(3, ()))
    positions = dict(_position(item) for item in _fields(_message(checked, 5)).get(4, ()))
    root = _node(_message(checked, 4))
    for node in root.walk():
        node.type = _type(types.get(node.id, b""))
        node.offset = positions.get(node.id, 0)
    return root


def unknown_field(root: Node, known: Collection[str]) -> FieldSelection | None:
    """Return the first selection on `device` of an unknown field, None if there is none."""
    for node in root.walk():
        if node.kind == "selection" and node.name not in known:
            operand = node.children[0]
            if operand.kind == "identifier" and operand.name == "device":
                return FieldSelection(node.name, node.offset)
    return None


Values = dict[int, list[int | bytes]]


def _node(data: bytes) -> Node:
    fields = _fields(data)
    number = next((number for number in _KINDS if number in fields), 3)
    node = Node(_number(fields, 2), _KINDS[number])
    body = _fields(_message(fields, number))
    match node.kind:
        case "constant":
            node.size = next(
                (len(_message(body, key)) for key in _SIZED_CONSTANTS if key in body), None
            )
        case "identifier":
            node.name = _text(body, 1)
        case "selection":
            node.name, node.is_test = _text(body, 2), bool(_number(body, 3))
            node.children = _nodes(body, 1)
        case "call":
            node.name, node.is_member = _text(body, 2), 1 in body
            node.children = _nodes(body, 1) + _nodes(body, 3)
        case "list":
            node.children = _nodes(body, 1)
            node.size = len(node.children)
        case "map":
            entries = [_fields(item) for item in body.get(2, ()) if isinstance(item, bytes)]
            node.children = [child for entry in entries for child in _nodes(entry, 3, 4)]
            node.size = len(entries)
        case "comprehension":
            node.name = _text(body, 1)
            node.children = _nodes(body, 2, 4, 5, 6, 7)
    return node


def _nodes(fields: Values, *numbers: int) -> list[Node]:
    found = [item for number in numbers for item in fields.get(number, ())]
    return [_node(item) for item in found if isinstance(item, bytes)]


def _entry(item: int | bytes) -> tuple[int, bytes]:
    """Decode an entry of the map from expression IDs to types."""
    fields = _fields(item)
    return _number(fields, 1), _message(fields, 2)


def _position(item: int | bytes) -> tuple[int, int]:
    """Decode an entry of the map from expression IDs to offsets."""
    fields = _fields(item)
    return _number(fields, 1), _number(fields, 2)


def _type(data: bytes) -> str:
    fields = _fields(data)
    if _number(fields, _PRIMITIVE) in _TEXTS:
        return "text"
    return next((_TYPES[number] for number in fields if number in _TYPES), "scalar")


def _message(fields: Values, number: int) -> bytes:
    found = fields.get(number, [b""])[-1]
    return found if isinstance(found, bytes) else b""


def _text(fields: Values, number: int) -> str:
    return _message(fields, number).decode()


def _number(fields: Values, number: int) -> int:
    found = fields.get(number, [0])[-1]
    return found if isinstance(found, int) else 0


def _fields(data: int | bytes) -> Values:
    """Decode the values of a message, by field number."""
    found: Values = {}
    at = 0
    while isinstance(data, bytes) and at < len(data):
        # most numbers take one byte, and a call costs more than this
        tag, at = (data[at], at + 1) if data[at] < 0x80 else _varint(data, at)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire == _VARINT:
            value, at = (data[at], at + 1) if data[at] < 0x80 else _varint(data, at)
        elif wire == _BYTES and data[at] < 0x80:
            value, at = data[at + 1 : at + 1 + data[at]], at + 1 + data[at]
        else:
            size, at = _varint(data, at) if wire == _BYTES else (8 if wire == _FIXED64 else 4, at)
            value, at = data[at : at + size], at + size
        found.setdefault(number, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at

"""Checked syntax trees, decoded from the bytes of a `cel.expr.CheckedExpr`.

The binding hands out a tree as bytes only, and protobuf's runtime is not a dependency: these are
the few messages of google/api/expr/v1alpha1's checked.proto and syntax.proto that matter here.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

from harness import protobuf_wire

Kind = Literal["constant", "identifier", "select", "call", "list", "map", "comprehension"]
_KINDS: dict[int, Kind] = {
    3: "constant",
    4: "identifier",
    5: "select",
    6: "call",
    7: "list",
    8: "map",
    9: "comprehension",
}
_PRIMITIVES = ("", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN = ("", "any", "timestamp", "duration")
Fields = dict[int, list[Any]]


@dataclasses.dataclass(slots=True)
class Node:
    """A node of the tree. Which attributes are set depends on `kind`."""

    id: int
    kind: Kind
    value: Any = None
    """The value of a constant."""
    name: str = ""
    """The name of an identifier, field or function, or of a comprehension's variable."""
    operands: "list[Node]" = dataclasses.field(default_factory=list)
    """Operands in order: a call's target is the first, a map has keys and values in turn, a
    comprehension has range, start, condition, step and result."""
    type: str = "dyn"
    """The type's name as upstream shows it, such as `list(string)`."""
    offset: int = 0
    """The position in the expression, in characters."""

    def walk(self) -> "Iterator[Node]":
        yield self
        for operand in self.operands:
            yield from operand.walk()


def decode(data: bytes) -> Node:
    """Return the tree of a serialized expression: a CheckedExpr within an Any."""
    checked = _fields(_fields(data)[2][0])
    types = {_one(entry, 1, 0): entry[2][0] for entry in map(_fields, checked.get(3, ()))}
    positions = map(_fields, _fields(_one(checked, 5, b"")).get(4, ()))
    offsets = {_one(entry, 1, 0): _one(entry, 2, 0) for entry in positions}
    root = _node(checked[4][0])
    for node in root.walk():
        node.type = _type(types[node.id]) if node.id in types else "dyn"
        node.offset = offsets.get(node.id, 0)
    return root


def _node(data: bytes) -> Node:
    fields = _fields(data)
    number = next(number for number in _KINDS if number in fields)
    node = Node(_one(fields, 2, 0), _KINDS[number])
    body = _fields(fields[number][0])
    if node.kind == "constant":
        node.value = _constant(body)
    elif node.kind == "identifier":
        node.name = _text(body, 1)
    elif node.kind == "select":
        node.name, node.operands = _text(body, 2), [_node(body[1][0])]
    elif node.kind == "call":
        node.name = _text(body, 2)
        node.operands = [_node(item) for item in (*body.get(1, ()), *body.get(3, ()))]
    elif node.kind == "comprehension":
        node.name = _text(body, 1)
        node.operands = [_node(body[key][0]) for key in (2, 4, 5, 6, 7)]
    else:
        _fill_literal(node, body)
    return node


def _fill_literal(node: Node, body: Fields) -> None:
    if node.kind == "list":
        node.operands = [_node(item) for item in body.get(1, ())]
        return
    entries = [_fields(item) for item in body.get(2, ())]
    node.name = _text(body, 1)
    node.operands = [_node(item) for entry in entries for item in (entry[3][0], entry[4][0])]


def _constant(body: Fields) -> Any:
    for number, values in body.items():
        value = values[0]
        match number:
            case 1:
                return None
            case 2:
                return bool(value)
            case 3:
                return value - 2**64 if value >= 2**63 else value
            case 4 | 5:
                return value
            case 6:
                return value.decode()
            case 7:
                return bytes(value)
    raise ValueError(f"expected a constant of a known kind, got fields {sorted(body)}")


def _type(data: bytes) -> str:
    fields = _fields(data)
    number = next(iter(fields), 1)
    value: Any = fields[number][0] if fields else b""
    match number:
        case 2:
            return "null_type"
        case 3:
            return _PRIMITIVES[value]
        case 4:
            return f"wrapper({_PRIMITIVES[value]})"
        case 5:
            return _WELL_KNOWN[value]
        case 6:
            return f"list({_type(_one(_fields(value), 1, b''))})"
        case 7:
            body = _fields(value)
            return f"map({_type(_one(body, 1, b''))}, {_type(_one(body, 2, b''))})"
        case 9:
            return str(value.decode())
        case 11:
            return f"type({_type(value)})"
        case 14:
            body = _fields(value)
            parameters = ", ".join(map(_type, body.get(2, ())))
            return f"{_text(body, 1)}({parameters})" if parameters else _text(body, 1)
    return "dyn"


def _one(fields: Fields, number: int, default: Any) -> Any:
    return fields.get(number, (default,))[-1]


def _text(fields: Fields, number: int) -> str:
    return str(_one(fields, number, b"").decode())


def _fields(data: bytes) -> Fields:
    found: Fields = {}
    for number, value in protobuf_wire.read(data):
        found.setdefault(number, []).append(value)
    return found

"""Checked syntax trees, decoded from the bytes of a `cel.expr.CheckedExpr`.

The binding hands out a tree as bytes only, and protobuf's runtime is not a dependency: these are
the few messages of google/api/expr/v1alpha1's checked.proto and syntax.proto that matter here.
"""

import dataclasses
from collections.abc import Callable, Iterator
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
_PARTS: dict[Kind, tuple[int, ...]] = {
    "identifier": (1,),
    "select": (2, 1),
    "call": (2, 1, 3),
    "list": (0, 1),
    "map": (1, 3, 4),
    "comprehension": (1, 2, 4, 5, 6, 7),
}
"""Fields of the name (0: there is none) and of the operands; a map has its own in its entries."""
_CONSTANTS: dict[int, Callable[[Any], Any]] = {
    1: lambda _: None,
    2: bool,
    3: protobuf_wire.int64,
    4: int,
    5: float,
    6: bytes.decode,
    7: bytes,
}
"""Field of each kind of constant -> its value from that on the wire."""
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
        node.value = next(_CONSTANTS[key](values[0]) for key, values in body.items())
        return node
    name, *operands = _PARTS[node.kind]
    node.name = _text(body, name)
    bodies = map(_fields, body.get(2, ())) if node.kind == "map" else [body]
    node.operands = [_node(item) for one in bodies for key in operands for item in one.get(key, ())]
    return node


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

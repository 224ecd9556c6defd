"""Checks an expression as upstream does before it is stored or evaluated, with its messages."""

import re
from collections.abc import Iterator

from harness.cel import declarations, rewriting, syntax_trees
from harness.cel.syntax_trees import Node

_DEVICE = "map(string, dyn)"
_CODE = re.compile(r"^INVALID_ARGUMENT: (.*) \[INVALID_ARGUMENT\]$", re.DOTALL)
_TIMES = re.compile(r"\b(?:duration|timestamp)\b")


class CompileError(Exception):
    """An expression that does not compile; the message is upstream's."""


def checked(text: str, *, with_lists: bool) -> Node:
    """Return the checked tree of an expression; raises CompileError.

    `with_lists` says whether attributes of devices can be lists.
    """
    source = rewriting.rewritten(text)
    try:
        expression = declarations.environment(with_lists=with_lists).compile(source)
    except RuntimeError as error:
        coded = _CODE.match(str(error))
        raise CompileError(f"compilation failed: {coded[1] if coded else error}") from None
    try:
        root = syntax_trees.decode(expression.serialize())
    except RecursionError:
        raise CompileError("compilation failed: nested too deeply") from None
    problems = [_shown(source, offset, words) for offset, words in _problems(root)]
    if problems:
        raise CompileError("compilation failed: " + "\n".join(problems))
    if root.type not in ("bool", "dyn"):
        name = _TIMES.sub(lambda found: f"google.protobuf.{found[0].capitalize()}", root.type)
        raise CompileError(f"must evaluate to bool or the unknown type, not {name}")
    return root


def _shown(source: str, offset: int, words: str) -> str:
    line = source.count("\n", 0, offset)
    column = offset - (source.rfind("\n", 0, offset) + 1)
    return (
        f"ERROR: <input>:{line + 1}:{column + 1}: {words}\n"
        f" | {source.splitlines()[line]}\n | {'.' * column}^"
    )


def _problems(root: Node) -> Iterator[tuple[int, str]]:
    """Yield what upstream's checker refuses and Google's C++ one accepts, with its offset."""
    for node in root.walk():
        match node.kind:
            case "select":
                yield from _undefined_field(node)
            case "list":
                yield from _mixed(node.operands)
            case "map":
                yield from _mixed(node.operands[::2])
                yield from _mixed(node.operands[1::2])


def _undefined_field(node: Node) -> Iterator[tuple[int, str]]:
    operand = node.operands[0]
    is_device = operand.kind == "identifier" and operand.name == "device"
    if is_device and operand.type == _DEVICE and node.name not in declarations.FIELDS:
        yield node.offset, f"undefined field '{node.name}'"


def _mixed(items: list[Node]) -> Iterator[tuple[int, str]]:
    """Yield the first element of a literal whose type is not that of the first one."""
    for item in items[1:]:
        types = items[0].type, item.type
        if types[0] != types[1] and not any("dyn" in kind for kind in types):
            yield item.offset, f"expected type '{types[0]}' but found '{types[1]}'"
            return

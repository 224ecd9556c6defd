"""Compiles a selector as upstream does: the checks, their messages, and the program."""

import functools
import re
from collections.abc import Iterator
from typing import Any

from harness.subject.cel import declarations, programs, rewriting, syntax_trees
from harness.subject.cel.library import patterns, times
from harness.subject.cel.syntax_trees import Node
from harness.subject.cel.values import EvaluationError

_DEVICE = "map(string, dyn)"
_CODE = re.compile(r"^INVALID_ARGUMENT: (.*) \[INVALID_ARGUMENT\]$", re.DOTALL)


class CompileError(Exception):
    """An expression that does not compile; the message is upstream's."""


def compiled(text: str) -> programs.Program:
    """Return the program of an expression; raises CompileError."""
    source = rewriting.rewritten(text)
    try:
        expression = declarations.environment().compile(source)
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
        raise CompileError(f"must evaluate to bool or the unknown type, not {root.type}")
    _require_patterns(root)
    try:
        return programs.Program(root)
    except EvaluationError as error:
        raise CompileError(f"program instantiation failed: {error}") from None
    except RecursionError:
        raise CompileError("compilation failed: nested too deeply") from None


def _require_patterns(root: Node) -> None:
    """Raise CompileError for a pattern of `find` that upstream cannot prepare."""
    for node in root.walk():
        if node.kind == "call" and node.name in ("find", "findAll"):
            pattern = node.operands[1]
            if isinstance(pattern.value, str) and not patterns.is_valid(pattern.value):
                raise CompileError(
                    f"program instantiation failed: error parsing regexp: {pattern.value}"
                )


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
            case "call":
                yield from _invalid_literal(node)


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


def _invalid_literal(node: Node) -> Iterator[tuple[int, str]]:
    is_valid = _LITERALS.get(node.name)
    literal = node.operands[-1] if node.operands else node
    is_text = literal.kind == "constant" and isinstance(literal.value, str)
    if is_valid and is_text and not is_valid(literal.value):
        yield literal.offset, f"invalid {node.name} argument"


def _parses(parse: Any) -> Any:
    def function(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return function


_LITERALS = {
    "matches": functools.lru_cache(256)(patterns.is_valid),
    "duration": _parses(times.duration),
    "timestamp": _parses(times.timestamp),
}

"""Compiles a selector as upstream does, into a program of nested functions."""

import functools
from typing import Any

from harness.cel import checking, declarations
from harness.cel.checking import CompileError
from harness.cel.syntax_trees import Node
from harness.subject.cel import paths, steps
from harness.subject.cel.devices import Device
from harness.subject.cel.library import patterns, times
from harness.subject.cel.paths import Frame, Step
from harness.subject.cel.values import EvaluationError, TypeValue

_TYPE_NAMES = (
    *("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"),
    *("google.protobuf.Timestamp", "google.protobuf.Duration", *declarations.TYPE_NAMES),
)


class Program:
    """An expression that can be evaluated on devices, by several threads at once."""

    def __init__(self, root: Node) -> None:
        builder = _Builder()
        self._run = builder.step(root)
        self._variables = builder.variables

    def evaluate(self, device: Device) -> tuple[Any, int]:
        """Return the result and what it cost.

        Raises EvaluationError, and CostLimitError if the cost exceeds the limit.
        """
        frame = Frame(device, self._variables)
        result = self._run(frame)
        paths.require_affordable(frame)
        return result, frame.cost


class _Builder:
    def __init__(self) -> None:
        self.variables = 0
        self._scope: dict[str, tuple[int, bool]] = {}
        """The place of each variable that is known here, and whether it may hold an error."""

    def step(self, node: Node) -> Step:
        match node.kind:
            case "constant":
                return paths.constant(node.value)
            case "identifier":
                return self._identifier(node.name)
            case "select":
                return self._select(node)
            case "call":
                return self._call(node)
            case "comprehension":
                return self._comprehension(node)
            case "list":
                return self._list(node)
            case "map":
                return self._map(node)

    def _identifier(self, name: str) -> Step:
        if name in self._scope:
            return paths.variable(*self._scope[name])
        if name in paths.FIELD_STEPS:
            return paths.FIELD_STEPS[name]
        if name in _TYPE_NAMES:
            return paths.constant(TypeValue(name))
        raise EvaluationError(f"no such attribute: {name}")

    def _select(self, node: Node) -> Step:
        operand = self.step(node.operands[0])
        if node.is_test:
            return paths.tested(operand, node.name)
        return paths.path(node.operands[0], node.name) or paths.selected(operand, node.name)

    def _call(self, node: Node) -> Step:
        if node.name == "_[_]" and node.operands[1].kind == "constant":
            constant = node.operands[1].value
            if isinstance(constant, str) and (step := paths.path(node.operands[0], constant)):
                return step
        operands = [self.step(operand) for operand in node.operands]
        if special := steps.SPECIAL.get(node.name):
            return special(*operands)
        return steps.called(node.name, operands)

    def _list(self, node: Node) -> Step:
        operands = [self.step(item) for item in node.operands]
        if not node.optional and all(item.kind == "constant" for item in node.operands):
            return paths.constant([item.value for item in node.operands])
        return steps.listed(operands, node.optional)

    def _map(self, node: Node) -> Step:
        if node.name:
            raise EvaluationError(f"unsupported message: {node.name}")
        operands = [self.step(item) for item in node.operands]
        entries = list(zip(operands[::2], operands[1::2], strict=True))
        return steps.mapped(entries, node.optional)

    def _comprehension(self, node: Node) -> Step:
        range_, start = (self.step(item) for item in node.operands[:2])
        outer = dict(self._scope)
        accumulator, variable = self.variables, self.variables + 1
        self.variables += 2
        self._scope[node.accumulator] = accumulator, True
        result_scope = dict(self._scope)
        self._scope[node.name] = variable, False
        condition, step = (self.step(item) for item in node.operands[2:4])
        self._scope = result_scope
        result = self.step(node.operands[4])
        self._scope = outer
        if node.operands[0].kind == "list" and not node.operands[0].operands:
            return steps.bound(accumulator, start, result)
        return steps.folded(accumulator, variable, range_, start, (condition, step, result))


def compiled(text: str) -> Program:
    """Return the program of an expression; raises CompileError."""
    root = checking.checked(text, with_lists=True, literals=_LITERALS)
    _require_patterns(root)
    try:
        return Program(root)
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

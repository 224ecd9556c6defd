"""Compiles a selector as upstream does: the checks, their messages, and the program."""

import functools
from typing import Any

from harness.cel import checking
from harness.cel.checking import CompileError
from harness.cel.syntax_trees import Node
from harness.subject.cel import programs
from harness.subject.cel.library import patterns, times
from harness.subject.cel.values import EvaluationError


def compiled(text: str) -> programs.Program:
    """Return the program of an expression; raises CompileError."""
    root = checking.checked(text, with_lists=True, literals=_LITERALS)
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

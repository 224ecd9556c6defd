"""CEL selectors: how many, how long, and whether they compile."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules

SELECTORS_MAX = 32
BYTES_MAX = 10 * 1024
TOGETHER_CHARACTERS_MAX = 24 * 1024


def total_length(spec: Document, at: str) -> Iterator[Cause]:
    """Limit the expressions of a claim or class together, because compiling them takes time."""
    size = sum(len(text) for text in _texts(spec))
    if size > TOGETHER_CHARACTERS_MAX:
        why = f"the CEL expressions have {size} characters, at most {TOGETHER_CHARACTERS_MAX} are compiled"
        yield field_errors.forbidden(at, why)


def _texts(value: Any) -> Iterator[str]:
    """Every CEL expression in a document."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, list):
            waiting.extend(here)
        elif isinstance(here, dict):
            waiting.extend(here.values())
            if isinstance(text := here.get("expression"), str):
                yield text


def selector_list(documents: list[Document], at: str, *, stored: bool = False) -> Iterator[Cause]:
    """Selectors of a request or class; those that are stored already are not compiled again."""
    return field_rules.max_items(
        documents, at, SELECTORS_MAX, lambda document, where: _selector(document, where, stored)
    )


def _selector(document: Document, at: str, stored: bool) -> Iterator[Cause]:  # noqa: FBT001
    cel = document.get("cel")
    if cel is None:
        yield field_errors.required(f"{at}.cel")
    elif not stored:
        yield from _expression(cel.get("expression") or "", f"{at}.cel.expression")


def _expression(text: str, at: str) -> Iterator[Cause]:
    if len(text.encode()) > BYTES_MAX:
        yield field_errors.too_long(at, BYTES_MAX)
        return
    from harness.apiserver.validation.cel import compiler  # CEL costs start-up time,

    compiled = compiler.compiled(text)
    if compiled.problem:
        yield field_errors.invalid(at, text, compiled.problem)
    elif compiled.too_complex:
        yield field_errors.forbidden(at, "too complex, exceeds cost limit")

"""CEL selectors of requests and classes: number, length, compilation.

The compiler is imported on first use, because loading the CEL library would slow down every start
of the server.
"""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules

SELECTORS_MAX = 32
"""Selectors of one request or class."""
BYTES_MAX = 10 * 1024
"""Size of one expression, in bytes."""


def selector_list(documents: list[Document], at: str, *, stored: bool = False) -> Iterator[Cause]:
    """Validate the selectors of a request or class; stored ones are not compiled again."""
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
    from harness.apiserver.validation.cel import compiler  # slow to import,

    compiled = compiler.compiled(text)
    if compiled.problem:
        yield field_errors.invalid(at, text, compiled.problem)
    elif compiled.too_complex:
        yield field_errors.forbidden(at, "too complex, exceeds cost limit")

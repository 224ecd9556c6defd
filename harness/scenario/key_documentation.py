"""The documentation of the keys of scenario and cluster files: the docstring below each field.

Pydantic can read it when a class is made (`use_attribute_docstrings`), but that is a third of the
time in which the tables are imported. Every command pays for the import; only the JSON Schemas and
their tests need the texts.
"""

import ast
import functools
import inspect
import itertools
import textwrap
from collections.abc import Iterator

from harness.scenario import fields


def by_table() -> dict[str, dict[str, str]]:
    """Return name of table -> name of key -> its documentation, of all tables that are imported."""
    return {table.__name__: _with_inherited(table) for table in _with_subclasses(fields.Spec)}


def _with_subclasses(table: type[fields.Spec]) -> Iterator[type[fields.Spec]]:
    yield table
    for more in table.__subclasses__():
        yield from _with_subclasses(more)


def _with_inherited(table: type[fields.Spec]) -> dict[str, str]:
    bases = [base for base in reversed(table.__mro__) if issubclass(base, fields.Spec)]
    return {key: text for base in bases for key, text in _own(base).items()}


@functools.cache
def _own(table: type[fields.Spec]) -> dict[str, str]:
    """Return the documentation of the keys that a table does not inherit."""
    return dict(_below_fields(table))


def _below_fields(table: type[fields.Spec]) -> Iterator[tuple[str, str]]:
    source = ast.parse(textwrap.dedent(inspect.getsource(table)))
    body = [node for definition in source.body for node in ast.iter_child_nodes(definition)]
    for pair in itertools.pairwise(body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=key)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield key, inspect.cleandoc(text)

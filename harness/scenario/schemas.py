"""JSON Schemas of scenario files and cluster profiles, for editors.

An editor with a TOML language server (Even Better TOML, taplo) completes the keys of a file, shows
their documentation and underlines a misspelt one, if the file's first line names its schema:
`#:schema ./scenario.schema.json`. A schema knows types and limits; that a scenario can be satisfied
is known to the loader alone.
"""

import ast
import functools
import inspect
import itertools
import json
import textwrap
from collections.abc import Iterator
from typing import Any

import pydantic

from harness.scenario import fields, loading, profiles
from harness.scenario.toml_files import documents


def _tables(table: type[fields.Spec] = fields.Spec) -> Iterator[type[fields.Spec]]:
    yield table
    for more in table.__subclasses__():
        yield from _tables(more)


def _explained(table: type[fields.Spec]) -> dict[str, str]:
    bases = [base for base in reversed(table.__mro__) if issubclass(base, fields.Spec)]
    return {key: text for base in bases for key, text in _below_fields(base)}


@functools.cache
def _below_fields(table: type[fields.Spec]) -> tuple[tuple[str, str], ...]:
    source = ast.parse(textwrap.dedent(inspect.getsource(table)))
    body = [node for definition in source.body for node in ast.iter_child_nodes(definition)]
    found = []
    for pair in itertools.pairwise(body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=key)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found.append((key.removesuffix("_"), inspect.cleandoc(text)))
    return tuple(found)


DIALECT = "https://json-schema.org/draft/2020-12/schema"
SHELVES = {"scenario": loading.SHELF, "cluster": profiles.SHELF}
"""Kind of file -> the shipped files of that kind."""


def file_name(kind: str) -> str:
    return f"{kind}.schema.json"


def schema(kind: str) -> documents.Document:
    """Return the JSON Schema of a kind of `SHELVES`; the keys' documentation is in it."""
    shelf = SHELVES[kind]
    found: dict[str, Any] = pydantic.TypeAdapter(shelf.kind).json_schema(mode="validation")
    known = {table.__name__: table for table in _tables()}
    for described in (found, *found["$defs"].values()):
        if table := known.get(described.get("title", "")):
            for key, text in _explained(table).items():
                if key in described["properties"]:
                    described["properties"][key].setdefault("description", text)
    return {**found, "$schema": DIALECT, "title": f"Flake Hunt: {shelf.noun}"}


def text(kind: str) -> str:
    return json.dumps(schema(kind), indent=1, sort_keys=True, ensure_ascii=False) + "\n"

"""The JSON Schemas in harness/schemas, applied to documents that tests make."""

import functools
import json
import pathlib
from typing import Any

import jsonschema

FOLDER = pathlib.Path(__file__).parents[2] / "harness" / "schemas"


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """The validator of one kind of document, such as `verdict`."""
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def obeying(name: str, content: bytes | str | Any) -> Any:
    """The document, which obeys its schema; bytes and text are decoded first."""
    document = json.loads(content) if isinstance(content, bytes | str) else content
    validator(name).validate(document)
    return document

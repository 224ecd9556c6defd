"""The JSON Schemas of documents, applied to those that tests make."""

import functools
import json
from typing import Any

import jsonschema

from harness.cli import document_schemas


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """The validator of one kind of document, such as `verdict`."""
    document = json.loads(document_schemas.text(name))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def obeying(name: str, content: bytes | str | Any) -> Any:
    """The document, which obeys its schema; bytes and text are decoded first."""
    document = json.loads(content) if isinstance(content, bytes | str) else content
    validator(name).validate(document)
    return document

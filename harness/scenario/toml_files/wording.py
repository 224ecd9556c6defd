"""Messages for validation errors of pydantic: expected value, actual value, and remedy."""

from collections.abc import Mapping
from typing import Any

from harness import suggestions
from harness.scenario import fields
from harness.scenario.toml_files import keys

_EXPECTED = {
    "bool": "true or false",
    "dict": "a table",
    "finite_number": "a finite number",
    "float": "a number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "int": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "list": "a list",
    "literal_error": "{expected}",
    "model": "a table",
    "string": "text",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_too_long": "text of at most {max_length} characters",
    "string_too_short": "text of at least {min_length} characters",
    "too_long": "at most {max_length} items",
    "too_short": "at least {min_length} items",
}
"""Error type of pydantic -> expectation; `int_type` and `int_parsing` are found under `int`."""
_KINDS = {
    bool: "boolean",
    fields.Boolean: "boolean",
    fields.Text: "text",
    dict: "table",
    float: "number",
    int: "number",
    list: "list",
    str: "text",
}
_VALUE_CHARACTERS_MAX = 60


def mistake(root: Any, details: Mapping[str, Any]) -> str:
    """Return one line for an error that pydantic found in a document of this type."""
    location, got = details["loc"], details.get("input")
    where = keys.place(root, location)
    match details["type"]:
        case "extra_forbidden":
            advice = keys.suggestion(root, location) or " Remove it or correct its spelling"
            return f"  {where}: unknown key (value {_short(got)}).{advice}"
        case "missing":
            return f"  {where}: expected a value, got none; add the key"
        case "union_tag_not_found":
            tag = details["ctx"]["discriminator"].strip("'")
            return f"  {_below(where, tag)}: expected a value, got none; add the key"
        case "union_tag_invalid":
            return _unknown_tag(where, details["ctx"])
        case "value_error":
            return f"  {where}: {details['ctx']['error']}"
        case _ if not location:  # about several keys, which the message names
            return f"  {details['msg']}"
    kind = _KINDS.get(type(got), type(got).__name__)
    return f"  {where}: {expectation(details)} ({kind}){_near(details, got)}"


def expectation(details: Mapping[str, Any]) -> str:
    """Return `expected …, got …` for an error about one value."""
    return f"expected {_expected(details)}, got {_short(details.get('input'))}"


def _expected(details: Mapping[str, Any]) -> str:
    kind = details["type"]
    words = _EXPECTED.get(kind) or _EXPECTED.get(kind.split("_")[0])
    return words.format(**details.get("ctx", {})) if words else details["msg"]


def _near(details: Mapping[str, Any], got: object) -> str:
    if details["type"] != "literal_error" or not isinstance(got, str):
        return ""
    return _suggested(got, details["ctx"]["expected"])


def _unknown_tag(where: str, context: Mapping[str, Any]) -> str:
    tag, known = context["discriminator"].strip("'"), context["expected_tags"]
    got = context["tag"]
    return f"  {_below(where, tag)}: expected one of {known}, got {got!r}{_suggested(got, known)}"


def _suggested(got: str, known: str) -> str:
    near = suggestions.did_you_mean(got, [word for word in known.split("'") if word.strip(", or")])
    return f".{near}" if near else ""


def _below(where: str, key: str) -> str:
    return key if where.startswith("(") else f"{where}.{key}"


def _short(value: object) -> str:
    text = repr(value)
    limit = _VALUE_CHARACTERS_MAX
    return text if len(text) <= limit else text[:limit] + "…"

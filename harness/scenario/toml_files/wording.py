"""Messages for validation errors of pydantic: expected value, actual value, and remedy."""

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pydantic

from harness import suggestions
from harness.scenario.toml_files import removed_keys

Location = Sequence[int | str]


def place(root: Any, location: Location) -> str:
    """Return the dotted path of a pydantic location, without the tags of unions."""
    names = [str(part) for part, is_key in _walk(root, location) if is_key]
    return ".".join(names) or "(the file)"


def suggestion(root: Any, location: Location) -> str:
    """Return ` Did you mean …?` for an unknown key; empty if there is no suggestion.

    Suggests a similar key of the same table, or the same key of another table.
    """
    *parents, last = location
    at = root
    for part in parents:
        at, _ = _step(at, part)
    before = place(root, parents) + "." if parents and place(root, parents)[0] != "(" else ""
    beside = [f"{before}{name}" for name in _fields(at)]
    elsewhere = [path for path in _paths(root) if path.endswith(f".{last}")]
    return suggestions.did_you_mean(f"{before}{last}", beside) or (
        f" Did you mean {elsewhere[0]!r}?" if elsewhere else ""
    )


def _walk(root: Any, location: Location) -> Iterator[tuple[int | str, bool]]:
    """Yield (part, is a key of the file) for each part; tags of unions are not keys."""
    at = root
    for part in location:
        at, is_key = _step(at, part)
        yield part, is_key


def _step(at: Any, part: int | str) -> tuple[Any, bool]:
    """Return the type at a part of this type, and True if the part is a key of the file."""
    at = _bare(at)
    if members := _members(at):
        return next((member for member in members if part in _tags(member)), None), False
    if _is_spec(at):
        field = at.model_fields.get(str(part)) or at.model_fields.get(f"{part}_")
        return (field.annotation if field else None), True
    return (get_args(at)[-1] if get_args(at) else None), True


def _is_spec(kind: Any) -> bool:
    """Return True if this type is a table with fixed keys."""
    return isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the tables of a tagged union; empty for any other type."""
    is_union = get_origin(kind) in (Union, types.UnionType)
    return tuple(filter(_is_spec, map(_bare, get_args(kind)))) if is_union else ()


def _tags(member: type[pydantic.BaseModel]) -> set[Any]:
    annotations = [field.annotation for field in member.model_fields.values()]
    return {
        value for kind in annotations if get_origin(kind) is Literal for value in get_args(kind)
    }


def _fields(at: Any) -> list[str]:
    at = _bare(at)
    tables = [at] if _is_spec(at) else _members(at)
    return list(
        dict.fromkeys(name for table in tables for name in map(table.key_of, table.model_fields))
    )


def _paths(at: Any, before: str = "") -> Iterator[str]:
    at = _bare(at)
    for table in [at] if _is_spec(at) else _members(at):
        for name, field in table.model_fields.items():
            key = table.key_of(name)
            yield before + key
            yield from _paths(field.annotation, f"{before}{key}.")


_SHOULD = re.compile(r"^\w+ should (?:be|have|match)\b")
_PLAINER = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
}
"""Words of pydantic -> those of all our messages."""
_VALUE_CHARACTERS_MAX = 60


def mistake(root: Any, details: Mapping[str, Any]) -> str:
    """Return one line for an error that pydantic found in a document of this type."""
    location = details["loc"]
    where = place(root, location)
    match details["type"]:
        case "extra_forbidden" if where in removed_keys.KEYS:
            return f"  {where}: no key any more. {removed_keys.KEYS[where]}"
        case "extra_forbidden":
            advice = suggestion(root, location) or " Remove it or correct its spelling"
            return f"  {where}: unknown key (value {_short(details['input'])}).{advice}"
        case "missing":
            return f"  {where}: expected a value, got none; add the key"
        case "union_tag_not_found" | "union_tag_invalid":
            return f"  {_below(where, details['ctx'])}: {expectation(details)}"
        case _ if not location:  # about several keys, which the message names
            return f"  {details['msg']}"
    return f"  {where}: {expectation(details)}"


def expectation(details: Mapping[str, Any]) -> str:
    """Return what pydantic says about one value, and the value."""
    context = details.get("ctx", {})
    match details["type"]:
        case "value_error":
            return str(context["error"])
        case "union_tag_not_found":
            return "expected a value, got none; add the key"
        case "union_tag_invalid":
            got, known = context["tag"], context["expected_tags"]
            return f"expected one of {known}, got {got!r}{_suggested(got, known)}"
        case "literal_error" if isinstance(details["input"], str):
            near = _suggested(details["input"], context["expected"])
            return f"expected {context['expected']}, got {_short(details['input'])}{near}"
    expected = _SHOULD.sub("expected", details["msg"])
    for words, plainer in _PLAINER.items():
        expected = expected.replace(words, plainer)
    return f"{expected}, got {_short(details.get('input'))}"


def _suggested(got: str, known: str) -> str:
    near = suggestions.did_you_mean(got, [word for word in known.split("'") if word.strip(", or")])
    return f".{near}" if near else ""


def _below(where: str, context: Mapping[str, Any]) -> str:
    key = context["discriminator"].strip("'")
    return key if where.startswith("(") else f"{where}.{key}"


def _short(value: object) -> str:
    text = repr(value)
    limit = _VALUE_CHARACTERS_MAX
    return text if len(text) <= limit else text[:limit] + "…"

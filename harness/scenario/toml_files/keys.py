"""Keys of a file: their dotted paths for messages, and suggestions for misspelt ones."""

import types
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pydantic

from harness import suggestions

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
        field = at.model_fields.get(str(part))
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
    return tuple(member for member in get_args(kind) if _is_spec(member)) if is_union else ()


def _tags(member: type[pydantic.BaseModel]) -> set[Any]:
    annotations = [field.annotation for field in member.model_fields.values()]
    return {
        value for kind in annotations if get_origin(kind) is Literal for value in get_args(kind)
    }


def _fields(at: Any) -> list[str]:
    at = _bare(at)
    tables = [at] if _is_spec(at) else _members(at)
    return list(dict.fromkeys(name for table in tables for name in table.model_fields))


def _paths(at: Any, before: str = "") -> Iterator[str]:
    """Yield every dotted key below a type."""
    at = _bare(at)
    for table in [at] if _is_spec(at) else _members(at):
        for name, field in table.model_fields.items():
            yield before + name
            yield from _paths(field.annotation, f"{before}{name}.")

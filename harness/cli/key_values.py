"""The words KEY=VALUE of `--set`, as fields of the options of a part."""

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any, TypeVar

from harness import errors, suggestions
from harness.cli import options

T = TypeVar("T")
WORDS = options.of(
    "Change another setting, which docs/how-to/parts.md lists (may be repeated).",
    "--set",
    metavar="KEY=VALUE",
)


def fields(kind: type[T], words: Sequence[str] | None, **given: Any) -> T:
    """Return the dataclass with the fields that are given, and those of the words.

    A key of a list may be repeated; `limits.roles_late_s=1` sets a field of a field. Raises
    UsageError for a key that is not there, and for a value of another type.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    values: dict[str, list[str]] = {}
    for word in words or ():
        key, equals, value = word.partition("=")
        name, dot, inner = key.partition(".")
        if not equals or name not in hints.keys() - given.keys():
            near = suggestions.listed(
                name, sorted(hints.keys() - given.keys()), title="Keys", where="--help"
            )
            raise errors.UsageError(f"expected --set KEY=VALUE, got {word!r}.{near}")
        values.setdefault(name, []).append(f"{inner}={value}" if dot else value)
    return kind(
        **given, **{name: _value(hints[name], name, found) for name, found in values.items()}
    )


def _value(hint: Any, name: str, words: list[str]) -> Any:
    import msgspec

    if dataclasses.is_dataclass(hint):
        return fields(typing.cast("type[Any]", hint), words)
    is_list = typing.get_origin(hint) is tuple
    try:
        return msgspec.convert(
            words if is_list else words[-1],
            hint,
            strict=False,
            dec_hook=lambda kind, word: kind(word),
        )
    except msgspec.ValidationError as error:
        raise errors.UsageError(f"--set {name}={words[-1]}: {error}") from error

"""Defaults of options from a file: flake-hunt.toml, or [tool.flake-hunt] in pyproject.toml."""

import functools
import os
import pathlib
import sys
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec

from harness import errors, regular_files


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of the file."""

    subject: str | msgspec.UnsetType = msgspec.UNSET
    cluster: str | list[str] | msgspec.UnsetType = msgspec.UNSET
    reports: str | msgspec.UnsetType = msgspec.UNSET
    minutes: float | msgspec.UnsetType = msgspec.UNSET
    thresholds: list[str] | msgspec.UnsetType = msgspec.UNSET
    jobs: int | msgspec.UnsetType = msgspec.UNSET


_OPTIONS = {
    "test": {"program": "subject"},
    "hunt": {"subject": "subject", "threshold": "thresholds"},
    "run": {"subject": "subject", "threshold": "thresholds"},
    "confirm": {"subject": "subject"},
    "reproduce": {},
}
"""Command -> its parameter -> the key of its default; those of the same name are left out."""
_SAME = {
    "cluster": "test hunt run confirm",
    "reports": "test hunt run confirm reproduce",
} | dict.fromkeys(("minutes", "jobs"), "test hunt")


class _Defaults(dict[str, Any]):
    """Parameter of a command -> its default, and the file that has them."""

    path: pathlib.Path


def of_command(command: str) -> dict[str, Any]:
    """Return the default of each parameter of a command that the nearest file has one for."""
    if command not in _OPTIONS or not (found := _nearest()):
        return {}
    path, table = found
    try:
        msgspec.convert(table, _Table)
    except msgspec.ValidationError as error:
        known = ", ".join(_Table.__struct_fields__)
        raise errors.UsageError(f"{path}: expected the keys {known}; {error}") from error
    keys = _OPTIONS[command] | {
        key: key for key, names in _SAME.items() if command in names.split()
    }
    given = _Defaults(
        {name: _value(table[key], key, path, command) for name, key in keys.items() if key in table}
    )
    given.path = path
    return given


def tell(context: Any) -> None:
    used = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source is not None and source.name == "DEFAULT_MAP":
            value = context.params[parameter.name]
            shown = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
            used.append(f"{parameter.name}={shown}")
    if used:
        path = os.path.relpath(context.default_map.path)
        print(f"from {path}: {', '.join(used)}", file=sys.stderr)


def _nearest() -> tuple[pathlib.Path, Mapping[str, Any]] | None:
    here = pathlib.Path.cwd()
    for folder in (here, *here.parents):
        for name, keys in (("flake-hunt.toml", ()), ("pyproject.toml", ("tool", "flake-hunt"))):
            if (folder / name).is_file():
                table = _read(folder / name)
                for key in keys:
                    table = table.get(key, {})
                if table:
                    return folder / name, table
    return None


def _read(path: pathlib.Path) -> Any:
    try:
        return tomllib.loads(regular_files.text(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise errors.UsageError(f"{path}: expected TOML; {error}") from error


def _value(value: Any, key: str, path: pathlib.Path, command: str) -> Any:
    match key:
        case "subject" if command != "test":
            return functools.partial(_subject, _from_here(value, path))
        case "subject":
            return _from_here(value, path)
        case "reports":
            return os.path.relpath(path.parent / value)
        case "cluster":
            return [value] if isinstance(value, str) else value
    return value


def _from_here(text: str, path: pathlib.Path) -> str:
    word, space, rest = text.partition(" ")
    there = path.parent / word
    is_other = path.parent != pathlib.Path.cwd() and not pathlib.Path(word).is_absolute()
    if is_other and (there.exists() or "/" in word):
        return f"{os.path.relpath(there)}{space}{rest}"
    return text


def _subject(text: str) -> list[str]:
    from harness.campaign.programs import identifying

    return [identifying.subject(text, ())]

"""Values of options without Pydantic: text, paths, whole numbers and choices that are right.

Typer has Pydantic check each of them, also those that are not given, and imports it for that. A run
starts about eight processes, and each pays a third of its start for it. Other values still go to
Typer, which says what is wrong with them.
"""

import os
import pathlib
import re
import typing
from collections.abc import Callable
from typing import Any

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_MORE = ("exists", "writable", "resolve_path", "allow_dash", "path_type", "parser", "click_type")
"""Settings of an option with which text or a path is more than text or a path."""


def accept(command: Any) -> Any:
    """Return a command of Typer whose parameters, also those of its subcommands, accept them so."""
    of_typer = command.get_params

    def get_params(context: Any) -> list[Any]:  # with --help, which is made only when asked for
        found = list(of_typer(context))
        for parameter in found:
            _coerce_plainly(parameter)
        return found

    command.get_params = get_params
    for subcommand in getattr(command, "commands", {}).values():
        accept(subcommand)
    return command


def _coerce_plainly(parameter: Any) -> None:
    descriptor = getattr(parameter, "type_descriptor", None)  # as in Typer 0.29
    own = getattr(parameter, "get_runtime_param", None)
    is_new = not isinstance(getattr(own, "__self__", None), _Coercion)
    if descriptor is not None and own is not None and is_new:
        parameter.get_runtime_param = _Coercion(own, descriptor).get


class _Coercion:
    """Makes the values of one parameter from its words."""

    def __init__(self, of_typer: Callable[[], Any], descriptor: Any) -> None:
        self._of_typer = of_typer
        self._annotation, self._info = descriptor.annotation, descriptor.parameter_info

    def get(self) -> "_Coercion":
        """Return it, as Typer's method returns its own."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value that the words mean. Typer raises an error for what is wrong."""
        try:
            return self._plain(value, is_repeated=param.multiple or param.nargs == -1)
        except _NotPlainError:
            return self._of_typer().coerce(value, param=param, ctx=ctx)

    def _plain(self, value: Any, *, is_repeated: bool) -> Any:
        if value is None:
            return () if is_repeated else None
        if any(getattr(self._info, name, None) for name in _MORE):
            raise _NotPlainError
        if not is_repeated:
            return self._one(value, self._annotation)
        if typing.get_origin(self._annotation) is not list or not isinstance(value, list | tuple):
            raise _NotPlainError
        (kind,) = typing.get_args(self._annotation)
        return [self._one(item, kind) for item in value]

    def _one(self, value: Any, kind: Any) -> Any:
        if kind in (str, bool) and type(value) is kind:
            return value
        if kind is pathlib.Path and isinstance(value, str | pathlib.Path):
            return self._path(pathlib.Path(value))
        if kind is int and _NUMBER.fullmatch(str(value)) and self._is_in_range(int(value)):
            return int(value)
        if typing.get_origin(kind) is typing.Literal and value in typing.get_args(kind):
            return value
        raise _NotPlainError

    def _path(self, path: pathlib.Path) -> pathlib.Path:
        is_readable = os.access(path, os.R_OK) or not path.exists()
        if not (is_readable and self._info.file_okay and self._info.dir_okay):
            raise _NotPlainError
        return path

    def _is_in_range(self, number: int) -> bool:
        least, most = self._info.min, self._info.max
        is_clamped = bool(getattr(self._info, "clamp", False))
        return (
            not is_clamped
            and (least is None or number >= least)
            and (most is None or number <= most)
        )


class _NotPlainError(Exception):
    """It is for Typer to judge."""

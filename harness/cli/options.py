"""Options and arguments of commands, with their help first."""

import functools
from typing import Any

import typer

MORE = "More"
"""Panel of the options that only `--help-all` shows."""


def of(help_: str, *names: str, default: Any = None, **settings: Any) -> Any:
    """Return an option; without names it has that of its parameter."""
    return typer.Option(default, *names, help=help_, **settings)


def argument(help_: str, metavar: str | None = None, *, default: Any = ..., **settings: Any) -> Any:
    return typer.Argument(default, metavar=metavar, help=help_, **settings)


flag = functools.partial(of, default=False)
more = functools.partial(of, rich_help_panel=MORE)

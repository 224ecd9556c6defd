"""Help in two lengths: `--help` shows what every day needs, `--help-all` shows everything.

An option with a panel of its own (`Cluster`, `Output`, …) is for `--help-all` only.
"""

import pathlib
import typing
from typing import Any

from typer import core

from harness.cli import defaults

NAMES = ["--help", "-h", "--help-all"]
EVERY_DAY = ("test", "run", "hunt", "explore", "check", "report", "reproduce", "scenarios")
"""The commands of a working week, which `flake-hunt --help` lists."""
_NOUNS: dict[Any, str] = {bool: "", int: "N", float: "NUMBER", pathlib.Path: "PATH", str: "NAME"}


class Command(core.TyperCommand):
    """A command whose options have nouns for values, instead of Python's types."""

    shows_all = False

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        hints = typing.get_type_hints(self.callback)
        parameters: list[Any] = self.params
        for parameter in parameters:
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = lambda ctx: None  # noqa: ARG005 - called with it
            elif parameter.metavar is None:
                parameter.metavar = _noun(hints.get(str(parameter.name)))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self.shows_all = _is_all(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and tell first which defaults are from a file."""
        defaults.tell(ctx)
        return super().invoke(ctx)

    def get_help_option(self, ctx: Any) -> Any:
        return _both(super().get_help_option(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        parameters: list[Any] = self.params
        more = [item for item in parameters if getattr(item, "rich_help_panel", None)]
        for parameter in parameters:
            parameter.hidden |= not self.shows_all and parameter in more
            parameter.min = parameter.max = None  # an error tells the range
        if more and not self.shows_all:
            rest = f"{ctx.command_path} --help-all: {len(more)} more options."
            self.epilog = _joined(self.epilog, rest)
        super().format_help(ctx, formatter)


class Group(core.TyperGroup):
    """A command with subcommands, of which the first help lists those of every day."""

    shows_all = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self.shows_all = _is_all(args[:1])
        return super().parse_args(ctx, args)

    def get_help_option(self, ctx: Any) -> Any:
        return _both(super().get_help_option(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.params:
            parameter.metavar = ""
        if ctx.parent is None and not self.shows_all:
            rest: list[Any] = [
                item for name, item in self.commands.items() if name not in EVERY_DAY
            ]
            for item in [*rest, *self.params]:
                item.hidden = True
            names = ", ".join(str(command.name) for command in rest)
            self.epilog = _joined(f"More: {names}. See {ctx.command_path} --help-all.", self.epilog)
        super().format_help(ctx, formatter)


def _both(option: Any) -> Any:
    option.opts, option.metavar = NAMES, ""
    option.help = "Show the help of every day, or all of it."
    return option


def _is_all(words: list[str]) -> bool:
    return NAMES[-1] in (words[: words.index("--")] if "--" in words else words)


def _joined(*texts: str | None) -> str:
    return "\n\n".join(filter(None, texts))


def _noun(hint: Any) -> str:
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)] or [hint]
    if typing.get_origin(hint) is typing.Literal:
        return "|".join(map(str, kinds))
    return _NOUNS[kinds[0]] if kinds[0] in _NOUNS else _noun(kinds[0])

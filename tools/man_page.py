"""Write the manual page flake-hunt(1) from the help of the command: docs/flake-hunt.1.

    .venv/bin/python tools/man_page.py

A test compares the file with what this program writes. The wheel installs it in share/man/man1 of
its environment.
"""

import argparse
import pathlib
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import typer

from harness.cli import commands

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "flake-hunt.1"
NAME = "flake-hunt"

_MARKUP = re.compile(r"(?<!\\)\[/?[a-z][a-z ]*\]")
"""A tag of rich, such as [bold]; `\\[` is a bracket and no tag."""


def main() -> None:
    """Write the page."""
    TARGET.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the manual page in the language of man(7)."""
    root: Any = typer.main.get_command(commands.make_app())
    lines = [*_beginning(root.help), ".SH OPTIONS", *_parameters(root), ".SH COMMANDS"]
    for names, command in _commands(root, ()):
        lines += _command(names, command)
    lines += [".SH EXIT STATUS", _text(commands.EPILOG)]
    lines += [".SH SEE ALSO", _text("flake-hunt COMMAND --help")]
    return "\n".join(lines) + "\n"


def _beginning(summary: str) -> list[str]:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    synopsis = [
        ".SH SYNOPSIS",
        f".B {_text(NAME)}",
        "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]...",
    ]
    return [
        f'.TH FLAKE\\-HUNT 1 "" "Flake Hunt {version}" "User Commands"',
        ".SH NAME",
        f"{_text(NAME)} \\- {_text(summary.partition(chr(10))[0])}",
        *synopsis,
    ]


def _commands(group: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command below a group that its help lists, with its names."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        yield (*names, name), command
        if hasattr(command, "commands"):
            yield from _commands(command, (*names, name))


def _command(names: tuple[str, ...], command: Any) -> list[str]:
    arguments = [_in_synopsis(item) for item in command.params if _is_argument(item)]
    title = " ".join([NAME, *names, *arguments])
    paragraphs = [_text(text) for text in (command.help or "").split("\n\n")]
    return [f'.SS "{_text(title)}"', "\n.PP\n".join(paragraphs), *_parameters(command)]


def _parameters(command: Any) -> list[str]:
    return [
        line
        for parameter in command.params
        if not parameter.hidden
        for line in (".TP", _signature(parameter), _text(parameter.help or ""))
    ]


def _signature(parameter: Any) -> str:
    if _is_argument(parameter):
        return f"\\fI{_text(_placeholder(parameter))}\\fR"
    names = ", ".join(
        f"\\fB{_text(name)}\\fR" for name in (*parameter.opts, *parameter.secondary_opts)
    )
    return names if parameter.is_flag else f"{names} \\fI{_text(_placeholder(parameter))}\\fR"


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _placeholder(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper().replace("_", "-"))


def _in_synopsis(argument: Any) -> str:
    """Return an argument in brackets if it is optional, with dots if it may be repeated."""
    dots = "..." * (argument.nargs != 1)
    name = f"{_placeholder(argument)}{dots}"
    return name if argument.required else f"[{name}]"


def _text(text: str) -> str:
    """Return plain text for troff, in one line and without the markup of rich."""
    plain = _MARKUP.sub("", " ".join(text.split())).replace("\\[", "[")
    escaped = plain.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    ascii_only = "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in escaped)
    return f"\\&{ascii_only}" if ascii_only.startswith((".", "'")) else ascii_only


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    main()

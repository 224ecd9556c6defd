"""The texts of `--help`: every option is described, and the help of every day is short."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from harness.cli import commands


def every_command(
    command: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from every_command(inner, (*path, name))


COMMANDS = dict(every_command(typer.main.get_command(commands.make_app())))


def test_every_option_and_command_is_described_in_plain_sentences() -> None:
    """And each paragraph is one line, which the terminal wraps; typer dots the names itself."""
    for path, command in COMMANDS.items():
        for item in command.params:
            assert getattr(item, "hidden", False) or (item.help or "").endswith("."), item.name
        text = command.help or ""
        assert text[:1].isupper(), path
        has_text = command.callback is not None and command.callback.__doc__
        if has_text and path not in ((), ("query",)):
            assert [part for part in text.split("\n\n") if "\n" in part] == [], path


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_every_day_is_short_and_says_how_to_see_the_rest(
    path: tuple[str, ...], flake_hunt: Any
) -> None:
    options = [item for item in COMMANDS[path].params if item.param_type_name == "option"]
    rest = [item.opts[0] for item in options if getattr(item, "rich_help_panel", None)]
    assert len(options) - len(rest) <= 13
    code, out, _ = flake_hunt(*path, "--help")
    assert (code, [name for name in rest if f"│ {name} " in out]) == (0, [])
    assert "<" not in out.replace("<=NUMBER", "")
    assert not rest or f"{' '.join(path)} --help-all: {len(rest)} more" in " ".join(out.split())
    code, out, _ = flake_hunt(*path, "--help-all")
    assert (code, [name for name in rest if f" {name}" not in out]) == (0, [])


def test_a_missing_argument_is_answered_with_the_order_of_all(flake_hunt: Any) -> None:
    """Of two, the parser calls the first one missing, although the second one is."""
    code, _, complaint = flake_hunt("query", "reports/latest")
    assert code == 2
    assert "Usage: flake-hunt query [OPTIONS] {RUN_DIR}... {SELECT}" in complaint
    assert "Try: flake-hunt query --help" in complaint

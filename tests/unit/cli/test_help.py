"""The texts of `--help`: every option is described, in plain sentences, and the pages stay narrow
enough for a terminal.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from harness.cli import commands, helps

RIDDLES = re.compile(
    "so many|so often|so long|one more gets|nobody|somebody|anew|whoever", re.IGNORECASE
)


def every_command(
    command: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from every_command(inner, (*path, name))


def context_of(path: tuple[str, ...]) -> Any:
    """The context in which the parser meets a command: that of its group is its parent."""
    context = None
    for length in range(len(path) + 1):
        command = COMMANDS[path[:length]]
        context = command.make_context("flake-hunt", [], parent=context, resilient_parsing=True)
    return context


COMMANDS = dict(every_command(typer.main.get_command(commands.make_app())))


def parameters() -> Iterator[tuple[str, Any]]:
    for path, command in COMMANDS.items():
        for parameter in command.params:
            yield f"{' '.join(path)} {parameter.name}", parameter


def test_every_option_and_command_is_described_in_plain_sentences() -> None:
    """And each paragraph is one line, which the terminal wraps; typer dots the names itself."""
    shown = {at: item for at, item in parameters() if not getattr(item, "hidden", False)}
    assert len(shown) > 100
    for at, item in shown.items():
        text = item.help or ""
        assert text.endswith("."), at
        assert not RIDDLES.search(text), at
        if item.param_type_name == "argument":
            assert (item.metavar or "").replace("_", "").isalpha() or not item.metavar, at
    for path, command in COMMANDS.items():
        text = command.help or ""
        assert text[:1].isupper(), path
        assert not RIDDLES.search(text), path
        has_text = command.callback is not None and command.callback.__doc__
        if has_text and path not in ((), ("query",)):
            assert [part for part in text.split("\n\n") if "\n" in part] == [], path


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_page_fits_a_terminal_and_shortens_nothing(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """rich ends a name or word that is wider than its column with an ellipsis."""
    monkeypatch.setenv("COLUMNS", "80")
    context = context_of(path)
    context.command.get_help(context)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    own = " ".join(f"{param.help} {param.metavar}" for param in context.command.params)
    ends = [word for line in lines for word in line.split() if word.endswith("…")]
    assert [word for word in ends if word not in f"{own} {context.command.help}"] == []


def test_commands_and_options_are_few() -> None:
    options = [
        (path, param.name)
        for path, command in COMMANDS.items()
        for param in command.params
        if path and param.param_type_name == "option" and not command.hidden
    ]
    assert len(COMMANDS[()].commands) <= 24
    assert len(options) <= 160


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


def test_the_first_help_has_a_working_week(flake_hunt: Any) -> None:
    out = flake_hunt("--help")[1]
    for name in COMMANDS[()].commands:
        assert (f"│ {name} " in out) == (name in helps.EVERY_DAY), name
        assert name in out


def test_a_missing_argument_is_answered_with_the_order_of_all(flake_hunt: Any) -> None:
    """Of two, the parser calls the first one missing, although the second one is."""
    code, _, complaint = flake_hunt("query", "reports/latest")
    assert code == 2
    assert "Usage: flake-hunt query [OPTIONS] {RUN_DIR}... {SELECT}" in complaint
    assert "Try: flake-hunt query --help" in complaint

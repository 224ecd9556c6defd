"""Shell scripts of examples, with a `flake-hunt` that notes its arguments and does nothing."""

import os
import pathlib
import subprocess
from collections.abc import Sequence
from typing import Any

import typer.main

from harness.cli import commands

_SEPARATOR = "\x1f"
_NOTES_ARGUMENTS = """#!/bin/sh
printf '%s\\037' "$(basename "$0")" "$@" >> "$CALLS"
echo >> "$CALLS"
[ "$1" = pack ] || exit ${CODE:-0}
"""


def ran(
    folder: pathlib.Path, script: str, *, others: Sequence[str] = (), **variables: str
) -> tuple[int, list[list[str]]]:
    """Run a script in a folder; return its exit code, and the words of each call.

    `others`: programs besides flake-hunt that only note their words. CODE is their exit code, but
    not that of `pack`.
    """
    programs, calls = folder / "programs", folder / "calls"
    programs.mkdir(exist_ok=True)
    for name in ("flake-hunt", *others):
        (programs / name).write_text(_NOTES_ARGUMENTS)
        (programs / name).chmod(0o755)
    calls.write_text("")
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={"PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(calls), **variables},
        check=False,
    )
    lines = calls.read_text().splitlines()
    return done.returncode, [line.split(_SEPARATOR)[:-1] for line in lines]


def parsed(words: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a call of flake-hunt, by their names in the code."""
    program, name, *rest = words
    assert program == "flake-hunt"
    command: Any = typer.main.get_command(commands.make_app([name])).commands[name]  # type: ignore[attr-defined]
    while hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
    return dict(command.make_context(name, [*rest], resilient_parsing=True).params)


def planned(words: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of `flake-hunt shards plan`, and of the command in it."""
    found = parsed(words)
    return parsed(["flake-hunt", *found["words"]]) | found

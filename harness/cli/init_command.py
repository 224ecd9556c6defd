"""`flake-hunt init`: examples to begin with."""

import pathlib
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Files")(init)


def init(
    folder: Annotated[
        pathlib.Path, typer.Argument(help="Folder for the examples; it is made if it is missing.")
    ] = pathlib.Path(),
) -> int:
    """Copy examples into a folder: schedulers, a scenario with faults, plug-ins, tests, a workflow.

    Nothing is overwritten. README.md says what each file shows and how to run it.
    """
    from harness.scenario import examples

    for path in examples.copy(folder):
        print(path)
    return 0

"""`flake-hunt init`: examples to begin with."""

import pathlib
from typing import Annotated

import typer


def init(
    folder: Annotated[
        pathlib.Path, typer.Argument(help="Folder for the examples; it is made if it is missing.")
    ] = pathlib.Path(),
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Copy these files or folders only."),
    ] = None,
) -> int:
    """Copy examples into a folder: schedulers, a scenario with faults, plug-ins, tests, a workflow.

    Nothing is overwritten. README.md says what each file shows and how to run it.
    """
    from harness.scenario import examples

    for path in examples.copy(folder, only=names or ()):
        print(path)
    return 0

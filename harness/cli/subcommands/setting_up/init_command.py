"""`flake-hunt init`: examples to begin with."""

import pathlib
from typing import Annotated

import typer


def init(
    folder: Annotated[
        pathlib.Path, typer.Argument(help="Folder for the examples; it is made if it is missing.")
    ] = pathlib.Path(),
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Copy this file or folder; may be repeated."),
    ] = None,
    force: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--force", help="Use a folder that has other files.")
    ] = False,
) -> int:
    """Copy examples into a folder: schedulers, a scenario with faults, plug-ins, tests, a workflow.

    Nothing is overwritten. README.md says what each file shows and how to run it.
    """
    from harness.scenario import examples

    for path in examples.copy(folder, is_forced=force, only=only or ()):
        print(path)
    return 0

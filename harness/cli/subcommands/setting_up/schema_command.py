"""`flake-hunt schema`: JSON Schemas of scenario files and cluster profiles, for editors."""

import enum
import pathlib
from typing import Annotated

import typer


class Kind(enum.StrEnum):
    """The files that have a schema."""

    SCENARIO = "scenario"
    CLUSTER = "cluster"


def schema(
    kind: Annotated[Kind, typer.Argument(help="Which files the schema is for.")],
    output: Annotated[
        pathlib.Path | None,
        typer.Option(
            "-o",
            "--into",
            metavar="FILE",
            help="File to write (default: standard output).",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Print the JSON Schema of scenario files or cluster profiles, for your editor.

    Write it beside your file, and name it in the file's first line, as in "#:schema
    ./scenario.schema.json". Editors with a TOML language server (taplo, Even Better TOML) then
    complete keys, show their documentation and underline mistakes.
    """
    from harness import writing
    from harness.scenario import schemas

    text = schemas.text(kind)
    if output is None:
        print(text, end="")
        return 0
    writing.replace(output, text.encode())
    print(output)
    return 0

"""`flake-hunt schema`: JSON Schemas of files, for editors, and of the documents of commands."""

import enum
import pathlib
from typing import Annotated

import typer


class Kind(enum.StrEnum):
    """The files and documents that have a schema."""

    SCENARIO = "scenario"
    CLUSTER = "cluster"
    VERDICT = "verdict"
    CAMPAIGN = "campaign"
    PLAN = "plan"
    SHARD = "shard"
    MERGE = "merge"
    COMPARISON = "comparison"
    PLUGINS = "plugins"
    QUERY = "query"
    EXPLANATION = "explanation"


def schema(
    kind: Annotated[Kind, typer.Argument(help="Which file or document the schema is for.")],
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
    """Print the JSON Schema of scenarios or cluster profiles, or of a document of a command.

    For an editor, write it beside your file, and name it in the file's first line, as in "#:schema
    ./scenario.schema.json". Editors with a TOML language server (taplo, Even Better TOML) then
    complete keys, show their documentation and underline mistakes.
    """
    from harness import writing
    from harness.cli import document_schemas

    text = document_schemas.text(kind)
    if output is None:
        print(text, end="")
        return 0
    writing.replace(output, text.encode())
    print(output)
    return 0

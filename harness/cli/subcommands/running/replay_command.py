"""`flake-hunt replay`: reproduce an explored run exactly, and export it."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import random_exploring

if TYPE_CHECKING:
    from harness.explore.search import explored_run, tokens


def replay(
    token: Annotated[str, typer.Argument(help="Token that `flake-hunt explore` printed.")],
    pytest_file: Annotated[
        pathlib.Path | None,
        typer.Option("--pytest", help="Write a pytest file that reproduces the run."),
    ] = None,
    save: Annotated[
        pathlib.Path | None,
        typer.Option("--save", help="Write a run directory, judged and reported like any run."),
    ] = None,
) -> int:
    """Repeat an explored run exactly, from its token; exit code 10 if its finding occurs again.

    `replay` repeats a token of `explore`, `confirm` plays the script of a known finding on a real
    program, and `reproduce` makes a run of yours small.
    """
    from harness.explore.search import search_campaign, tokens

    parsed = tokens.parse(token)
    code = random_exploring.tell(parsed, pytest_file)
    if save is not None:
        _save(save, parsed, search_campaign.replay(parsed, record=True))
    return code


def _save(path: pathlib.Path, token: "tokens.Token", run: "explored_run.ExploredRun") -> None:
    from harness.checks import judging
    from harness.cli.terminal import displaying
    from harness.explore.output import run_directory
    from harness.report import publishing

    directory = run_directory.save(path, token, run)
    examination = judging.examine(directory)
    publishing.publish(examination)
    displaying.show(examination.judgement, directory)

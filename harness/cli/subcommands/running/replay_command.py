"""`flake-hunt replay`: reproduce an explored run exactly, and export it."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import random_exploring

if TYPE_CHECKING:
    from harness.explore.search import explored_run, tokens


def replay(
    token: Annotated[str, typer.Argument(help="Token that `flake-hunt explore` printed.")],
    times: Annotated[int, typer.Option(min=1, help="Number of repetitions.")] = 1,
    pytest_file: Annotated[
        pathlib.Path | None,
        typer.Option("--pytest", help="Write a pytest file that reproduces the run."),
    ] = None,
    curve: Annotated[
        int, typer.Option(min=0, help="Random continuations to try after each choice.")
    ] = 0,
    save: Annotated[
        pathlib.Path | None,
        typer.Option("--save", help="Write a run directory, judged and reported like any run."),
    ] = None,
) -> int:
    """Reproduce an explored run exactly; exit code 10 if its finding occurs again.

    --curve tries random continuations after every choice: the failure becomes likely where the
    share of failing continuations jumps.
    """
    from harness.explore.search import search_campaign, tokens

    parsed = tokens.parse(token)
    count = sum(search_campaign.replay(parsed).finding is not None for _ in range(times))
    print(f"found in {count} of {times}")
    if not count:
        return 0
    code = random_exploring.tell(parsed, pytest_file)
    if curve:
        _show_curve(parsed, curve)
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


def _show_curve(token: "tokens.Token", futures: int) -> None:
    from harness.explore.output import stories

    points = []
    for point in stories.curve(token, futures=futures, seed=1):
        points.append(point)
        print(
            f"{point.choice:5} {point.failing:6.0%} {'#' * round(40 * point.failing)}", flush=True
        )
    print(f"the failure became likely at choice {stories.steepest(points).choice}")

"""`flake-hunt pack`: runs or a campaign as one file that others judge."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import run_paths
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.packing import making


def pack(
    directory: run_paths.PackedPaths,
    into: Annotated[
        pathlib.Path | None,
        typer.Option(
            "-o",
            "--into",
            metavar="FILE",
            help="File to write, FILE.zip (default: named after scenario, subject, verdict and run, in this folder).",
        ),
    ] = None,
    redact: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--redact",
            help="Replace the names of nodes, pods, claims, devices, drivers, images, hosts, paths and users, the same by the same.",
        ),
    ] = False,
    limit_mb: Annotated[
        int,
        typer.Option(
            "--limit-mb", min=1, max=2000, help="Largest size in megabytes; GitHub accepts 25."
        ),
    ] = 25,
) -> int:
    """Pack runs, or one campaign, into a file that GitHub accepts and that `check` judges as it is.

    It has the record, the verdict, the report, the plan and the versions, and a README.txt that
    says how to judge it. Of a campaign it has the page and as many runs as fit, the worst first.
    The same runs give the same bytes.

    Each run is judged again first: a run that was changed or has not ended is refused. Without
    --redact, the record has the names of your nodes, users and paths. A redacted copy is judged,
    too: it is packed only if its verdict and its violations are those of the run.
    """
    from harness import writing
    from harness.cli.terminal import displaying

    _require_new(into)
    with outputs.chosen() as out:
        with displaying.status("judging and packing", out):
            made = _made(directory, limit_mb, is_redacted=redact)
        target = into or pathlib.Path(f"{made.name}.zip")
        _require_new(target)
        writing.replace(target, made.content)
        print(target)
        for line in _notes(made):
            out.note(f"  {line}")
    return 0


def _made(paths: list[pathlib.Path], limit_mb: int, *, is_redacted: bool) -> "making.Pack":
    from harness.packing import making, pack_index

    limit = limit_mb * pack_index.MEGABYTE
    return making.make(paths, limit=limit, is_redacted=is_redacted)


def _require_new(target: pathlib.Path | None) -> None:
    """Raise UsageError for a file that exists, or that GitHub would not accept by its name."""
    from harness import errors

    if target is None:
        return
    if target.suffix.lower() != ".zip":
        raise errors.UsageError(
            f"expected a name that ends with .zip, which GitHub accepts, got {target}"
        )
    if target.exists():
        raise errors.UsageError(f"expected a new file, but {target} exists: name another one")


def _notes(made: "making.Pack") -> list[str]:
    """Return the size, what is in it, and what is not."""
    from harness.packing import pack_index

    runs = outputs.counted(len(made.index.runs), "run")
    size = f"{len(made.content) / pack_index.MEGABYTE:.2f} MB, {runs}"
    kind = ", redacted" if made.index.redacted else ", with the names of nodes, users and paths"
    left_out = [f"not in it: {what}" for what in made.index.left_out]
    return [size + kind, *left_out, "judge it: flake-hunt check FILE"]

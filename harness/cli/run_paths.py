"""Run directories as arguments: folders, campaigns, and patterns that the shell did not expand."""

import dataclasses
import glob
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

PATTERN = "*?["
"""Characters of a pattern."""
RUNS_MAX = 10_000
"""Most run directories of one command."""


def expanded(paths: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """Return the run directories that the arguments name, in their order.

    A campaign stands for its runs, a folder such as `reports/pod-churn` for the runs in it, and a
    quoted pattern such as `'reports/*/*'` for the runs that it matches, without those that are
    there already. Any other argument stays as it is. Raises UsageError for a pattern that matches
    no run, a campaign without runs, and more than RUNS_MAX runs.
    """
    from harness import errors

    found: list[pathlib.Path] = []
    seen: set[pathlib.Path] = set()
    for path in paths:
        found += [run for run in _of(path) if run == path or run not in seen]
        seen.update(found)
    if len(found) > RUNS_MAX:
        raise errors.UsageError(f"expected at most {RUNS_MAX} runs, got {len(found)}: name fewer")
    return found


def with_evidence(paths: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """Return the paths without runs whose evidence was removed on purpose; say how many these are.

    Raises RemovedEvidenceError if nothing is left.
    """
    from harness.history import directories, retention

    runs = [directories.RunDirectory(path) for path in paths]
    removed = [run for run in runs if retention.of_run(run) is not None]
    if removed and len(removed) == len(runs):
        retention.require_evidence(removed[0])
    if removed:
        counted = f"{len(removed)} of {len(runs)} runs"
        print(f"flake-hunt: left out {counted}: their evidence was removed", file=sys.stderr)
    return [run.path for run in runs if run not in removed]


def _of(path: pathlib.Path) -> Iterator[pathlib.Path]:
    from harness.history import campaign_folders

    if campaign_folders.is_one(path):
        yield from _of_campaign(path)
    elif set(PATTERN) & set(str(path)) and not path.exists():
        yield from _matching(path)
    else:
        yield from _inside(path) or [path]


def _inside(path: pathlib.Path) -> list[pathlib.Path]:
    """Return the runs in a folder that is no run itself; `latest` is a link to one elsewhere."""
    if (path / "plan.json").exists():
        return []
    runs = (plan.parent for plan in path.glob("*/plan.json"))
    return sorted(run for run in runs if not run.is_symlink())


def _of_campaign(path: pathlib.Path) -> list[pathlib.Path]:
    from harness import errors
    from harness.history import campaign_folders

    campaign = campaign_folders.read(path)
    if not campaign.runs:
        why = campaign.problem or "none of its runs could be executed"
        raise errors.UsageError(f"expected a campaign with runs, but {path} has none: {why}")
    return campaign.runs


def _matching(pattern: pathlib.Path) -> list[pathlib.Path]:
    """Return the runs that a pattern matches; `latest` is a link to one that has another name."""
    from harness import errors

    matches = (pathlib.Path(name) for name in sorted(glob.glob(str(pattern))))  # noqa: PTH207 - the pattern may be absolute
    runs = [path for path in matches if (path / "plan.json").is_file() and not path.is_symlink()]
    if not runs:
        raise errors.UsageError(f"expected run directories, but {pattern} matches none")
    return runs


@dataclasses.dataclass(frozen=True, slots=True)
class Logs:
    """The logs of one explanation."""

    names: Sequence[str]
    run: pathlib.Path | None = None
    """The run directory that the names are relative to; None: they were given as they are."""


def chosen(arguments: Sequence[str]) -> list[pathlib.Path] | Logs:
    """Return the run directories that the arguments name, or else the logs.

    Logs are one explanation, and each run directory is one of its own: runs use the same names for
    devices. A campaign stands for its runs. Raises UsageError if there are both, and for a folder
    that is no run directory.
    """
    from harness import errors

    names = [name for argument in arguments for name in _matching_logs(argument)]
    folders = [name for name in names if _is_folder(name)]
    if folders and len(folders) < len(names):
        log = next(name for name in names if name not in folders)
        raise errors.UsageError(
            f"expected either logs or run directories, got the log {log} and the folder "
            f"{folders[0]}: explain them one after the other"
        )
    if not folders:
        return Logs(names)
    runs = expanded([pathlib.Path(name) for name in folders])
    for run in runs:
        if not (run / "plan.json").is_file():
            raise errors.UsageError(
                f"expected a log file or a run directory, got the folder {run}: name the files in "
                "it, or - for stdin"
            )
    return runs


def _matching_logs(argument: str) -> list[str]:
    """Return what a pattern matches that the shell did not expand; anything else as it is."""
    if not set(PATTERN) & set(argument) or pathlib.Path(argument).exists():
        return [argument]
    found = sorted(glob.glob(argument))  # noqa: PTH207 - the pattern may be absolute
    return [name for name in found if not pathlib.Path(name).is_symlink()] or [argument]


def _is_folder(name: str) -> bool:
    try:
        return pathlib.Path(name).is_dir()
    except (OSError, ValueError):
        return False


RunPaths = Annotated[
    list[pathlib.Path],
    typer.Argument(
        metavar="RUN_DIR",
        callback=expanded,
        help="Run directories, folders of runs such as reports/pod-churn, or campaigns; patterns "
        "such as 'reports/*/*' may be quoted.",
    ),
]
RunPath = Annotated[pathlib.Path, typer.Argument(metavar="RUN_DIR", help="Folder of one run.")]

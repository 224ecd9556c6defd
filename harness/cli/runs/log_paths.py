"""Arguments of `flake-hunt explain`: logs, or run directories, or patterns of either."""

import dataclasses
import glob
import pathlib
from collections.abc import Sequence

from harness.cli.runs import run_paths


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

    names = [name for argument in arguments for name in _matching(argument)]
    folders = [name for name in names if _is_folder(name)]
    if folders and len(folders) < len(names):
        log = next(name for name in names if name not in folders)
        raise errors.UsageError(
            f"expected either logs or run directories, got the log {log} and the folder "
            f"{folders[0]}: explain them one after the other"
        )
    if not folders:
        return Logs(names)
    runs = run_paths.expanded([pathlib.Path(name) for name in folders])
    for run in runs:
        if not (run / "plan.json").is_file():
            raise errors.UsageError(
                f"expected a log file or a run directory, got the folder {run}: name the files in "
                "it, or - for stdin"
            )
    return runs


def _matching(argument: str) -> list[str]:
    """Return what a pattern matches that the shell did not expand; anything else as it is."""
    if not set(run_paths.PATTERN) & set(argument) or pathlib.Path(argument).exists():
        return [argument]
    found = sorted(glob.glob(argument))  # noqa: PTH207 - the pattern may be absolute
    return [name for name in found if not pathlib.Path(name).is_symlink()] or [argument]


def _is_folder(name: str) -> bool:
    try:
        return pathlib.Path(name).is_dir()
    except (OSError, ValueError):
        return False

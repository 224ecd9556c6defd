"""Run directories as arguments: folders, campaigns, packs, and patterns that nothing expanded."""

import contextlib
import dataclasses
import glob
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.packing import opening

PATTERN = "*?["
"""Characters of a pattern."""
RUNS_MAX = 10_000
"""Most run directories of one command."""


def expanded(paths: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """Return the run directories that the arguments name, in their order.

    A campaign stands for its runs, a folder such as `reports/pod-churn` for the runs in it, a pack
    for the runs in it, and a quoted pattern such as `'reports/*/*'` for the runs that it matches,
    without those that are there already. Any other argument stays as it is. Raises UsageError for a
    pattern that matches no run, a campaign without runs, and more than RUNS_MAX runs; PackError for
    a pack that was changed, if it is the only argument.
    """
    from harness import errors

    found: list[pathlib.Path] = []
    seen: set[pathlib.Path] = set()
    for path in paths:
        found += [
            run for run in _of(path, is_only=len(paths) == 1) if run == path or run not in seen
        ]
        seen.update(found)
    if len(found) > RUNS_MAX:
        raise errors.UsageError(f"expected at most {RUNS_MAX} runs, got {len(found)}: name fewer")
    return found


def _of(path: pathlib.Path, *, is_only: bool) -> Iterator[pathlib.Path]:
    from harness.history import campaign_folders

    if is_pack(path):
        yield from _of_pack(path, is_only=is_only)
    elif campaign_folders.is_one(path):
        yield from _of_campaign(path)
    elif set(PATTERN) & set(str(path)) and not path.exists():
        yield from _matching(path)
    else:
        yield from _inside(path) or [path]


_PACKS = contextlib.ExitStack()
"""The packs that this command has unpacked."""
_FOLDERS: "dict[pathlib.Path, opening.Unpacked]" = {}
"""Folder of an unpacked pack -> the pack."""


@contextlib.contextmanager
def packs_removed() -> Iterator[None]:
    """Remove what was unpacked when the block ends."""
    _FOLDERS.clear()
    with _PACKS:
        yield


def readable(message: str) -> str:
    """Return a message with the names of packs instead of the folders of their contents."""
    for folder, found in _FOLDERS.items():
        message = message.replace(str(folder), str(found.pack))
    return message


def is_pack(path: pathlib.Path) -> bool:
    """Return whether a path is a file that is a pack, or another zip."""
    if not path.is_file():
        return False
    from harness.packing import sealed_archives

    return sealed_archives.is_one(path)


def pack_of(path: pathlib.Path) -> pathlib.Path | None:
    """Return the pack of a run directory in an unpacked one; None for any other."""
    found = _unpacked_around(path)
    return found.pack if found else None


def packed_verdict(path: pathlib.Path) -> str:
    """Return the verdict that a run of an unpacked pack had when it was packed."""
    found = _unpacked_around(path)
    runs = zip(found.runs, found.index.runs, strict=True) if found else ()
    return next((run.verdict for folder, run in runs if folder == path), "")


def _unpacked_around(path: pathlib.Path) -> "opening.Unpacked | None":
    return next((_FOLDERS[folder] for folder in path.parents if folder in _FOLDERS), None)


def unpacked(pack: pathlib.Path) -> "opening.Unpacked":
    """Return a pack's content, which is there until the command ends.

    Raises UsageError for another zip, and PackError for a pack that was changed.
    """
    from harness.packing import opening

    found = _PACKS.enter_context(opening.unpacked(pack))
    _FOLDERS[found.folder] = found
    return found


def named(path: pathlib.Path) -> str:
    """Return the name of a run directory for people; one of a pack is named with the pack."""
    pack = pack_of(path)
    return f"{path.parent.name}/{path.name} of {pack}" if pack else str(path)


def _of_pack(path: pathlib.Path, *, is_only: bool) -> list[pathlib.Path]:
    """Return the runs of a pack; of a bad one among several, the pack, which is refused later."""
    from harness import errors

    try:
        return unpacked(path).runs
    except (errors.UsageError, errors.HistoryError):
        if is_only:
            raise
        return [path]


def _inside(path: pathlib.Path) -> list[pathlib.Path]:
    """Return the runs in a folder that is no run itself; `latest` is a link to one elsewhere.

    The runs of a pack that was unpacked are one level further down.
    """
    if (path / "plan.json").exists():
        return []
    below = "*/*/plan.json" if (path / "pack.json").is_file() else "*/plan.json"
    runs = (plan.parent for plan in path.glob(below))
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
    folders = [name for name in names if _has_runs(name)]
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


def _has_runs(name: str) -> bool:
    try:
        return pathlib.Path(name).is_dir() or is_pack(pathlib.Path(name))
    except (OSError, ValueError):
        return False


RunPaths = Annotated[
    list[pathlib.Path],
    typer.Argument(
        metavar="RUN_DIR",
        callback=expanded,
        help="Run directories, folders of runs such as reports/pod-churn, packs, or campaigns; patterns "
        "such as 'reports/*/*' may be quoted.",
    ),
]


def _to_pack(paths: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """Return run directories as `expanded` does, and campaigns as they are."""
    from harness.history import campaign_folders

    return [
        path
        for given in paths
        for path in ([given] if campaign_folders.is_one(given) else expanded([given]))
    ]


def compared(paths: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """Return runs, campaigns and folders of runs; of a pack its campaign, run or folder of runs.

    Raises UsageError for a pack of runs of several scenarios.
    """
    return [_one_side(path) if is_pack(path) else path for path in paths]


def _one_side(pack: pathlib.Path) -> pathlib.Path:
    from harness import errors

    found = unpacked(pack)
    campaigns = [found.folder / name for name in found.index.campaigns]
    sides = campaigns or (
        found.runs if len(found.runs) == 1 else [run.parent for run in found.runs]
    )
    if len(set(sides)) != 1:
        raise errors.UsageError(
            f"expected runs of one scenario or a campaign, but {pack} has others"
        )
    return sides[0]


PackedPaths = Annotated[
    list[pathlib.Path],
    typer.Argument(
        metavar="RUN_DIR",
        callback=_to_pack,
        help="Run directories, folders of runs, or one campaign.",
    ),
]


def only(path: pathlib.Path) -> pathlib.Path:
    """Return the run directory that an argument names: itself, or the only run of a pack."""
    from harness import errors

    runs = unpacked(path).runs if is_pack(path) else [path]
    if len(runs) != 1:
        raise errors.UsageError(
            f"expected one run, but {path} has {len(runs)}: unpack it, and name one"
        )
    return runs[0]


RunPath = Annotated[
    pathlib.Path,
    typer.Argument(metavar="RUN_DIR", callback=only, help="Folder of one run, or a pack with one."),
]

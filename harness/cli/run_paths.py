"""Run directories as arguments: folders, campaigns, packs, and patterns that nothing expanded."""

import contextlib
import dataclasses
import glob
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness import errors
from harness.cli import options
from harness.history import campaign_folders

if TYPE_CHECKING:
    from harness.packing import packs

PATTERN = "*?["
RUNS_MAX = 10_000
_PACKS = contextlib.ExitStack()
_FOLDERS: "dict[pathlib.Path, packs.Unpacked]" = {}
"""Folder of an unpacked pack -> the pack."""


def expanded(paths: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """Return the run directories that the arguments name, in their order.

    A campaign stands for its runs, a folder such as `reports/pod-churn` for the runs in it, a pack
    for the runs in it, and a quoted pattern such as `'reports/*/*'` for the runs that it matches,
    without those that are there already. Any other argument stays as it is. Raises UsageError for a
    pattern that matches no run, a campaign without runs, and more than RUNS_MAX runs; PackError for
    a pack that was changed, if it is the only argument.
    """
    found: dict[pathlib.Path, None] = {}
    named: list[pathlib.Path] = []
    for path in paths:
        runs = [
            run for run in _of(path, is_only=len(paths) == 1) if run == path or run not in found
        ]
        found |= dict.fromkeys(runs)
        named += runs
    if len(named) > RUNS_MAX:
        raise errors.UsageError(f"expected at most {RUNS_MAX} runs, got {len(named)}: name fewer")
    return named


def _of(path: pathlib.Path, *, is_only: bool) -> list[pathlib.Path]:
    if is_pack(path):
        try:
            return unpacked(path).runs
        except (errors.UsageError, errors.HistoryError):
            if is_only:
                raise
            return [path]  # it is refused later
    if campaign_folders.is_one(path):
        campaign = campaign_folders.read(path)
        if not campaign.runs:
            why = campaign.problem or "none of its runs could be executed"
            raise errors.UsageError(f"expected a campaign with runs, but {path} has none: {why}")
        return campaign.runs
    if set(PATTERN) & set(str(path)) and not path.exists():
        matches = map(pathlib.Path, _matching(str(path)))
        if runs := [run for run in matches if (run / "plan.json").is_file()]:
            return runs
        raise errors.UsageError(f"expected run directories, but {path} matches none")
    return _inside(path) or [path]


def _matching(pattern: str) -> list[str]:
    found = sorted(glob.glob(pattern))  # noqa: PTH207 - the pattern may be absolute
    return [name for name in found if not pathlib.Path(name).is_symlink()]


def _inside(path: pathlib.Path) -> list[pathlib.Path]:
    if (path / "plan.json").exists():
        return []
    below = "*/*/plan.json" if (path / "pack.json").is_file() else "*/plan.json"
    return sorted(plan.parent for plan in path.glob(below) if not plan.parent.is_symlink())


@contextlib.contextmanager
def packs_removed() -> Iterator[None]:
    _FOLDERS.clear()
    with _PACKS:
        yield


def readable(message: str) -> str:
    """Return a message with the names of packs instead of the folders of their contents."""
    for folder, found in _FOLDERS.items():
        message = message.replace(str(folder), str(found.pack))
    return message


def is_pack(path: pathlib.Path) -> bool:
    if not path.is_file():
        return False
    from harness.packing import packs

    return packs.is_one(path)


def unpacked(pack: pathlib.Path) -> "packs.Unpacked":
    """Return a pack's content, which is there until the command ends."""
    from harness.packing import packs

    found = _PACKS.enter_context(packs.unpacked(pack))
    _FOLDERS[found.folder] = found
    return found


def pack_of(path: pathlib.Path) -> "packs.Unpacked | None":
    return next((_FOLDERS[folder] for folder in path.parents if folder in _FOLDERS), None)


def packed_verdict(path: pathlib.Path, pack: "packs.Unpacked") -> str:
    return dict(zip(pack.runs, (run.verdict for run in pack.index.runs), strict=True)).get(path, "")


def place_in_pack(path: pathlib.Path) -> str:
    pack = pack_of(path)
    return f"{path.parent.name}/{path.name} of {pack.pack}" if pack else ""


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
    names: list[str] = []
    for argument in arguments:
        is_pattern = set(PATTERN) & set(argument) and not pathlib.Path(argument).exists()
        names += (_matching(argument) if is_pattern else []) or [argument]
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


def _has_runs(name: str) -> bool:
    try:
        return pathlib.Path(name).is_dir() or is_pack(pathlib.Path(name))
    except (OSError, ValueError):
        return False


def to_pack(paths: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """Return run directories as `expanded` does, and campaigns as they are."""
    both = ([path] if campaign_folders.is_one(path) else expanded([path]) for path in paths)
    return [path for found in both for path in found]


def only(path: pathlib.Path) -> pathlib.Path:
    """Return the run directory that an argument names: itself, or the only run of a pack."""
    runs = unpacked(path).runs if is_pack(path) else [path]
    if len(runs) != 1:
        raise errors.UsageError(
            f"expected one run, but {path} has {len(runs)}: unpack it, and name one"
        )
    return runs[0]


RUNS = options.argument(
    "Run directories, folders of runs such as reports/pod-churn, packs, or campaigns; patterns "
    "such as 'reports/*/*' may be quoted.",
    "RUN_DIR",
    callback=expanded,
)

"""runs.jsonl of a folder of releases: every run that was made, for the sessions that follow.

A run is not made again if program, scenario, harness and cluster are the same to the byte, it could
be executed, and its verdict is still there.
"""

import contextlib
import fcntl
import functools
import hashlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import msgspec

from harness import errors, regular_files, writing
from harness.campaign import results
from harness.history import directories

NAME = "runs.jsonl"
_HARNESS = pathlib.Path(__file__).parents[2]


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that a run was made of; runs of one key repeat each other."""

    scenario: str
    program: str
    """Program and version, as `kube-scheduler 1.36.3`."""
    binary: str
    """`sha256:<hex>` of the program."""
    text: str
    """`sha256:<hex>` of the scenario."""
    harness: str
    """`sha256:<hex>` of the code of the harness."""
    cluster: str
    """`sha256:<hex>` of the profile of the cluster, with the digests of its binaries."""


class MadeRun(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the file."""

    key: Key
    commit: str
    """Commit of the harness."""
    made: str
    """Time of its end in UTC, `2026-01-31T23:59:59Z`."""
    result: results.RunResult
    """Its directory is relative to the folder."""


class Ledger:
    """The runs of a folder; one process has it at a time."""

    def __init__(self, folder: pathlib.Path, file: BinaryIO, runs: list[MadeRun]) -> None:
        self._folder, self._file, self._runs = folder, file, runs

    def add(self, made: MadeRun) -> None:
        """Append a run. Raises StorageError or UnwritableError if it cannot be written."""
        place = pathlib.Path(made.result.directory)
        if made.result.directory and place.is_relative_to(self._folder):
            directory = str(place.relative_to(self._folder))
            result = msgspec.structs.replace(made.result, directory=directory)
            made = msgspec.structs.replace(made, result=result)
        self._runs.append(made)
        with writing.explained(self._folder / NAME):
            self._file.write(msgspec.json.encode(made) + b"\n")
            self._file.flush()

    def of(self, key: Key) -> list[MadeRun]:
        """Return the runs of a key that count, oldest first, with absolute directories."""
        found = [self._placed(made) for made in self._runs if made.key == key]
        return [made for made in found if _counts(made.result)]

    def errors_of(self, key: Key) -> list[MadeRun]:
        """Return the runs of a key that could not be executed, oldest first."""
        return [made for made in self._runs if made.key == key and made.result.error]

    def _placed(self, made: MadeRun) -> MadeRun:
        directory = str(self._folder / made.result.directory)
        result = msgspec.structs.replace(made.result, directory=directory)
        return msgspec.structs.replace(made, result=result)


def _counts(result: results.RunResult) -> bool:
    """Return whether a run was executed and judged, and its verdict is there."""
    is_made = not (result.error or result.cut or result.missing)
    place = directories.RunDirectory(pathlib.Path(result.directory))
    return is_made and place.verdict.is_file()


@contextlib.contextmanager
def opened(folder: pathlib.Path) -> Iterator[Ledger]:
    """Yield the ledger of a folder, which is made if it is not there.

    Raises UsageError if another process has it, HistoryError if it is damaged, StorageError or
    UnwritableError if it cannot be written.
    """
    folder = folder.resolve()
    path = folder / NAME
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    with file:
        _lock(file, folder)
        whole = _read(path)
        file.truncate(sum(map(len, whole)))
        yield Ledger(folder, file, [_decode(path, line) for line in whole])


def _lock(file: BinaryIO, folder: pathlib.Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise errors.UsageError(
            f"expected one process for a folder of releases, but another one works in {folder}: "
            "wait until it ends, or choose another folder with -o"
        ) from error
    except OSError:
        return  # a file system without locks


def _read(path: pathlib.Path) -> Sequence[bytes]:
    """Return the whole lines; a killed session may have left a part of one."""
    return [
        line for line in regular_files.content(path).splitlines(keepends=True) if line[-1:] == b"\n"
    ]


def _decode(path: pathlib.Path, line: bytes) -> MadeRun:
    try:
        return msgspec.json.decode(line, type=MadeRun)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.HistoryError(
            f"{path}: expected a run on each line ({error}): remove the line, or the whole folder"
        ) from error


def digest(value: Any) -> str:
    """Return the digest of a text, or of a plain document."""
    content = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@functools.cache
def of_harness() -> str:
    """Return the digest of the code of this harness: names and contents, in their order.

    A commit would say less: it names neither local changes nor an installed wheel, and changes with
    every document.
    """
    whole = hashlib.sha256()
    for path in sorted(_HARNESS.rglob("*.py")):
        whole.update(f"{path.relative_to(_HARNESS).as_posix()}\0".encode())
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return f"sha256:{whole.hexdigest()}"

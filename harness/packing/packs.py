"""A pack: a zip with a list of its runs, pack.json, which is unpacked into a temporary folder.

The checksums of the zip show what was damaged, and the manifest of each run which of its files were
changed. Nothing of a pack can get out of the folder.
"""

import contextlib
import dataclasses
import pathlib
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator

import msgspec

from harness import errors, writing
from harness.history import files

NAME = "pack.json"
README = "README.txt"
SCHEMA_VERSION = 2
MEGABYTE = 10**6
FILES_MAX = 50_000
UNPACKED_MAX = 2 * 2**30
"""Bytes of all files of a pack. Journals stay compressed, and have a limit of their own."""
PREFIX = "flake-hunt-pack-"
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    msgspec.DecodeError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)


class PackError(errors.HistoryError):
    """A pack is damaged, or is none that may be unpacked."""

    def __init__(self, pack: pathlib.Path, why: str) -> None:
        super().__init__(f"UNKNOWN: nothing in {pack} was judged: {why}")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the pack."""

    path: str
    """Its folder, `<scenario>/<run>`."""
    run_id: str
    scenario: str
    subject: str
    """The subject as text, with its version."""
    verdict: str
    reason: str
    violations: int
    seed: int
    again: list[str]
    """Arguments of `flake-hunt` that repeat it, without paths of the machine; empty: none do."""


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """The content of pack.json."""

    schema: int = SCHEMA_VERSION
    flake_hunt: str
    """The version that made the pack."""
    redacted: bool = False
    files: int = 0
    """The number of files of its runs and campaigns: a zip may lose the end of its directory."""
    runs: list[Run]
    campaigns: list[str] = []
    """Their folders, `campaigns/<name>`."""
    left_out: list[str] = []
    """Runs and files that are not in the pack, each with the reason."""


class _Head(msgspec.Struct):
    schema: int


@dataclasses.dataclass(frozen=True, slots=True)
class Unpacked:
    """A pack that is unpacked."""

    pack: pathlib.Path
    folder: pathlib.Path
    """The folder that has pack.json."""
    index: Index

    @property
    def runs(self) -> list[pathlib.Path]:
        return [self.folder / run.path for run in self.index.runs]


def is_one(path: pathlib.Path) -> bool:
    """Return whether a path is a file that is a zip, or begins or ends as one."""
    if not path.is_file():
        return False
    try:
        with files.open_regular(path) as file:
            return file.read(2) == b"PK" or zipfile.is_zipfile(file)
    except (errors.HistoryError, OSError):
        return False


@contextlib.contextmanager
def unpacked(pack: pathlib.Path) -> Iterator[Unpacked]:
    """Provide the content of a pack in a temporary folder, which is removed at the end.

    Raises UsageError for a file that is no pack, PackError for one that is damaged or too large,
    and StorageError if the folder cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        target = pathlib.Path(name)
        try:
            with files.open_regular(pack) as file, zipfile.ZipFile(file) as archive:
                _extract(archive, pack, target)
            found = _opened(pack, target)
        except PackError:
            raise
        except (errors.HistoryError, *_DAMAGE) as error:
            raise PackError(pack, str(error)) from error
        yield found


def _extract(archive: zipfile.ZipFile, pack: pathlib.Path, target: pathlib.Path) -> None:
    """Write all files; zipfile leaves no name that leads out of the folder, and writes no links."""
    size = sum(entry.file_size for entry in archive.infolist())
    if len(archive.infolist()) > FILES_MAX or size > UNPACKED_MAX:
        most = f"{FILES_MAX:,} files of {UNPACKED_MAX >> 20} MiB unpacked"
        raise PackError(pack, f"expected at most {most}, got {size >> 20} MiB")
    with writing.explained(target):
        archive.extractall(target)


def _opened(pack: pathlib.Path, target: pathlib.Path) -> Unpacked:
    found = [*target.glob(NAME), *target.glob(f"*/{NAME}")]
    if len(found) != 1:
        raise errors.UsageError(
            f"expected a pack of flake-hunt pack, but {pack} has {len(found)} files {NAME}"
        )
    content, folder = files.read_small(found[0]), found[0].parent
    if msgspec.json.decode(content, type=_Head).schema > SCHEMA_VERSION:
        raise errors.UsageError(
            f"expected a pack of schema {SCHEMA_VERSION}, but {pack} has a later one: read it with "
            "the version of Flake Hunt that made it"
        )
    index = msgspec.json.decode(content, type=Index)
    for name in (*(run.path for run in index.runs), *index.campaigns):
        place = (folder / name).resolve()
        if not (place.is_relative_to(folder.resolve()) and place.is_dir()):
            raise PackError(pack, f"it has no folder {name!r:.80}")
    if not index.runs:
        raise PackError(pack, "it has no run")
    others = (path for path in target.rglob("*") if path.name not in (NAME, README))
    count = sum(map(pathlib.Path.is_file, others))
    if count < index.files:
        raise PackError(pack, f"expected {index.files} files of its runs, got {count}")
    return Unpacked(pack, folder, index)

"""Unpacks a pack into a temporary folder; nothing of it can get anywhere else.

A pack as `making` makes it must not have been changed by a byte. One that another program has
packed must have the files that its pack.json lists, unchanged; only these are written.
"""

import contextlib
import dataclasses
import hashlib
import pathlib
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator

from harness import errors, writing
from harness.history import files
from harness.packing import pack_index, sealed_archives

PREFIX = "flake-hunt-pack-"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)
"""Exceptions of zipfile for damaged files."""
_PIECE = 2**20


@dataclasses.dataclass(frozen=True, slots=True)
class Unpacked:
    """A pack that is unpacked."""

    pack: pathlib.Path
    folder: pathlib.Path
    """The folder that has pack.json."""
    index: pack_index.Index

    @property
    def runs(self) -> list[pathlib.Path]:
        return [self.folder / run.path for run in self.index.runs]


@contextlib.contextmanager
def unpacked(pack: pathlib.Path) -> Iterator[Unpacked]:
    """Provide the content of a pack in a temporary folder, which is removed at the end.

    Raises UsageError for a file that is no pack, PackError for one that was changed, is damaged or
    has entries that no pack has, and StorageError if the folder cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        yield _unpack(pack, pathlib.Path(name))


def _unpack(pack: pathlib.Path, target: pathlib.Path) -> Unpacked:
    try:
        sealed_archives.require_unchanged(pack)
        with files.open_regular(pack) as file, zipfile.ZipFile(file) as archive:
            return Unpacked(pack, target, _extract_all(archive, pack, target))
    except pack_index.PackError:
        raise
    except (errors.HistoryError, *_DAMAGE) as error:
        raise pack_index.PackError(pack, str(error)) from error


def _extract_all(
    archive: zipfile.ZipFile, pack: pathlib.Path, target: pathlib.Path
) -> pack_index.Index:
    entries = _entries(archive, pack)
    folder = _folder(entries, pack)
    index = _index(archive, entries[folder + pack_index.NAME], pack)
    for name, listed in index.files.items():
        entry = entries.get(folder + name)
        if entry is None:
            raise pack_index.PackError(pack, f"{name} is missing: it was removed")
        if not _extract(archive, entry, target / name, listed):
            raise pack_index.PackError(pack, f"{name} was changed")
    return index


def _entries(archive: zipfile.ZipFile, pack: pathlib.Path) -> dict[str, zipfile.ZipInfo]:
    """Return the files of a zip by their names, by which nothing is written; others are ignored."""
    if len(archive.infolist()) > pack_index.FILES_MAX:
        raise pack_index.PackError(pack, f"expected at most {pack_index.FILES_MAX:,} files")
    return {
        entry.filename: entry for entry in archive.infolist() if entry.compress_type in _METHODS
    }


def _folder(entries: dict[str, zipfile.ZipInfo], pack: pathlib.Path) -> str:
    """Return the folder in the zip that has pack.json, with its slash.

    Raises UsageError if there is none, and PackError if there are several.
    """
    found = [name for name in entries if name.rpartition("/")[2] == pack_index.NAME]
    if not found:
        raise errors.UsageError(
            f"expected a pack of flake-hunt pack, but {pack} has no {pack_index.NAME}"
        )
    if len(found) > 1:
        raise pack_index.PackError(pack, f"it has {len(found)} files {pack_index.NAME}")
    return found[0].removesuffix(pack_index.NAME)


def _index(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, pack: pathlib.Path
) -> pack_index.Index:
    with archive.open(entry) as file:
        content = file.read(pack_index.INDEX_BYTES_MAX + 1)
    if len(content) > pack_index.INDEX_BYTES_MAX:
        raise pack_index.PackError(pack, f"{pack_index.NAME} is larger than that of any pack")
    index = pack_index.decode(content, pack)
    sizes = [listed.bytes for listed in index.files.values()]
    if sum(sizes) > pack_index.UNPACKED_MAX or min(sizes, default=0) < 0:
        most = f"{pack_index.UNPACKED_MAX >> 20} MiB unpacked"
        raise pack_index.PackError(pack, f"expected at most {most}, got {sum(sizes) >> 20}")
    return index


def _extract(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: pathlib.Path, listed: pack_index.File
) -> bool:
    """Write a file; return whether it is the one that is listed."""
    with writing.explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    whole, size = hashlib.sha256(), 0
    with archive.open(entry) as source, writing.explained(path), path.open("xb") as file:
        while size <= listed.bytes and (piece := source.read(_PIECE)):
            size += len(piece)
            whole.update(piece)
            file.write(piece)
    return size == listed.bytes and f"sha256:{whole.hexdigest()}" == listed.digest

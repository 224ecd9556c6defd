"""Files of interrupted searches, with which they can be resumed.

A file belongs to one world with its sizes, defects and remedies, and to one version of the code:
with another one the same decisions would lead elsewhere.
"""

import functools
import hashlib
import pathlib

import msgspec

import harness
from harness import errors, regular_files, writing
from harness.explore.search.whole import divided_search

FORMAT, VERSION = "flake-hunt-search", 3


class SearchFile(msgspec.Struct, kw_only=True):
    """An interrupted search."""

    format: str = FORMAT
    version: int = VERSION
    code: str
    """Digest of the code that made the runs; see `code_digest`."""
    world: str
    sizes: dict[str, int]
    defects: list[str]
    remedies: list[str]
    schedules: int = 0
    """Number of runs so far."""
    given_up: int = 0
    """Number of runs that ended early because all that could follow had been tried."""
    distinct: int = 0
    """Number of interleavings so far that differ in more than the order of independent steps."""
    rest: divided_search.DividedSearch
    """The rest of the search."""


def write(path: pathlib.Path, search: SearchFile) -> None:
    """Write a search. Raises StorageError or UnwritableError."""
    writing.replace(path, msgspec.json.encode(search))


def read(path: pathlib.Path, expected: SearchFile) -> SearchFile:
    """Return the search of a file; raise UsageError if it is not the expected one."""
    search = _decoded(path)
    for what, got, wanted in (
        ("world", search.world, expected.world),
        ("sizes", search.sizes, expected.sizes),
        ("defects", search.defects, expected.defects),
        ("remedies", search.remedies, expected.remedies),
    ):
        if got != wanted:
            raise errors.UsageError(
                f"expected {path} to be of a search with {what} {_shown(wanted)}, "
                f"got {_shown(got)}: name another file with --resume"
            )
    if search.code != expected.code:
        raise errors.UsageError(
            f"expected {path} to be of this version of the code ({expected.code}), "
            f"got {search.code}: resume with that version, or remove the file to begin again"
        )
    return search


def _decoded(path: pathlib.Path) -> SearchFile:
    try:
        search = msgspec.json.decode(regular_files.content(path), type=SearchFile)
    except OSError as error:
        raise errors.UsageError(
            f"expected a readable search in {path}: {(error.strerror or '').lower()}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.UsageError(
            f"expected {path} to be a search that --resume has written, got {error}"
        ) from error
    if (search.format, search.version) != (FORMAT, VERSION):
        raise errors.UsageError(
            f"expected {path} to have format {FORMAT} {VERSION}, "
            f"got {search.format} {search.version}: use the version that wrote it"
        )
    return search


def _shown(value: object) -> str:
    if isinstance(value, dict):
        value = [f"{key}={number}" for key, number in value.items()]
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


@functools.cache
def code_digest() -> str:
    """Return a digest of all source files of the harness, as 16 hexadecimal digits."""
    root, digest = pathlib.Path(harness.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]

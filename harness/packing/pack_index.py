"""The list of what a pack has, pack.json, and the limits of packs."""

import os
import pathlib

import msgspec

from harness import errors

NAME = "pack.json"
README = "README.txt"
SCHEMA_VERSION = 1
MEGABYTE = 10**6
FILES_MAX = 50_000
INDEX_BYTES_MAX = 32 * 2**20
NAME_MAX, PART_BYTES_MAX = 1000, 255
"""Longest path of a file, in characters, and longest name in it, in bytes."""
UNPACKED_MAX = 2 * 2**30
"""Bytes of all files of a pack. Journals stay compressed, and have a limit of their own."""


class PackError(errors.HistoryError):
    """A pack is damaged, was changed, or is none that may be unpacked."""

    def __init__(self, pack: pathlib.Path, why: str) -> None:
        super().__init__(f"UNKNOWN: nothing in {pack} was judged: {why}")


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the pack."""

    bytes: int
    digest: str
    """`sha256:<hex>` of its content."""


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
    runs: list[Run]
    campaigns: list[str] = []
    """Their folders, `campaigns/<name>`."""
    left_out: list[str] = []
    """Runs and files that are not in the pack, each with the reason."""
    files: dict[str, File]
    """Path in the pack, with `/` -> the file; all but pack.json."""


class _Head(msgspec.Struct):
    schema: int


def encode(index: Index) -> bytes:
    return msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n"


def decode(content: bytes, pack: pathlib.Path) -> Index:
    """Return the list in pack.json.

    Raises UsageError for a newer schema, and PackError if it is damaged.
    """
    try:
        schema = msgspec.json.decode(content, type=_Head).schema
        if schema > SCHEMA_VERSION:
            raise errors.UsageError(
                f"expected a pack of schema {SCHEMA_VERSION}, but {pack} has schema {schema}: "
                "read it with the version of Flake Hunt that made it"
            )
        index = msgspec.json.decode(content, type=Index)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PackError(pack, f"{NAME} is damaged ({error})") from error
    folders = [*(run.path for run in index.runs), *index.campaigns]
    for name in (*index.files, *folders):
        require_inside(name, pack)
    if why := _why_not(index, folders):
        raise PackError(pack, why)
    return index


def _why_not(index: Index, folders: list[str]) -> str:
    """Return what of a list contradicts itself; empty: nothing does."""
    above = {str(parent) for name in index.files for parent in pathlib.PurePosixPath(name).parents}
    if not index.runs:
        return "it has no run"
    if twice := next((name for name in folders if folders.count(name) > 1), None):
        return f"it lists {twice!r:.80} twice"
    if both := above & index.files.keys():
        return f"{min(both)!r:.80} is a file and a folder"
    missing = next((run.path for run in index.runs if run.path not in above), None)
    return f"it has no file of the run {missing!r:.80}" if missing else ""


def require_inside(name: str, pack: pathlib.Path) -> None:
    """Raise PackError for a path that may lead out of the folder into which a pack is unpacked."""
    parts = name.split("/")
    is_long = len(name) > NAME_MAX or max(len(os.fsencode(part)) for part in parts) > PART_BYTES_MAX
    if is_long or {"", ".", ".."} & set(parts) or {"\\", "\0"} & set(name) or name[1:2] == ":":
        raise PackError(pack, f"{name!r:.80} is no path of a file in a pack")

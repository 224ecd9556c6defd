"""The manifest of a run directory: the files that the run wrote, so that later changes are noticed.

The run writes manifest.json last. It lists every file except the ones that judging writes, which
change whenever the directory is judged again. A directory without one is from an older version or
from a run that was interrupted; `Plan.expects_manifest` separates these.
"""

import os
import pathlib
import stat
from collections.abc import Iterator, Mapping

import msgspec

from harness import errors, writing
from harness.history import directories, files, journal_reader, plans

SCHEMA_VERSION = 1


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A file as the run wrote it."""

    records: int | None
    """Number of records of a journal; None for other files, and if its writer was not closed."""
    bytes: int
    digest: str
    """`sha256:<hex>` of its content."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of manifest.json."""

    schema: int = SCHEMA_VERSION
    run_id: str
    files: dict[str, Entry]
    """Path in the run directory, with `/` -> the file."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A run directory compared with its manifest."""

    count: int | None = None
    """Number of files that the manifest lists; None if there is no manifest that can be used."""
    problem: str = ""
    """Why the manifest cannot be used, or that it is missing; empty: neither."""
    changes: Mapping[str, str] = {}
    """File -> how it differs, as the end of a sentence that begins with the file."""
    digests: Mapping[str, str] = {}
    """File -> its digest, for the files that have not changed."""


def write(directory: directories.RunDirectory, *, run_id: str) -> None:
    """Write manifest.json atomically, about everything that is in the directory now.

    Raises StorageError or UnwritableError if it cannot be written.
    """
    listed = {name: _entry(directory.path / name) for name in sorted(_names(directory))}
    manifest = Manifest(
        run_id=run_id, files={name: entry for name, entry in listed.items() if entry}
    )
    writing.replace(directory.manifest, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")


def written(directory: directories.RunDirectory, plan: plans.Plan) -> list[str]:
    """Return the files of the evidence: those in the manifest, and other journals and audit logs.

    Of a run without a manifest, all files that judging does not write. Raises HistoryError if the
    manifest is damaged.
    """
    if not os.path.lexists(directory.manifest):
        return sorted(_names(directory))
    found = [*directory.journals(), *directory.audit_logs()]
    evidence = {path.relative_to(directory.path).as_posix() for path in found}
    return sorted({*_read(directory, plan).files, *evidence})


def _names(directory: directories.RunDirectory) -> Iterator[str]:
    """Yield the regular files that judging does not write, relative to the directory."""
    own = {path.name for path in (directory.manifest, directory.verdict, *directory.pages())}
    for folder, _, names in os.walk(directory.path):
        where = pathlib.Path(folder)
        for path in (where / name for name in names):
            name = path.relative_to(directory.path).as_posix()
            if name not in own and stat.S_ISREG(path.lstat().st_mode) and _is_text(name):
                yield name


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _entry(path: pathlib.Path) -> Entry | None:
    try:
        size, digest = files.size(path), files.digest(path)
    except errors.HistoryError:
        return None
    return Entry(records=_count(path), bytes=size, digest=digest)


def _count(path: pathlib.Path) -> int | None:
    is_journal = directories.plain_form(path).suffix == ".jsonl"
    trailer = journal_reader.last_trailer(path) if is_journal else None
    return None if trailer is None else trailer.count


# -------------------------------------------------------------------------------- reading


def compare(directory: directories.RunDirectory, plan: plans.Plan) -> Comparison:
    if not os.path.lexists(directory.manifest):
        return Comparison(problem=_MISSING if plan.expects_manifest else "")
    try:
        manifest = _read(directory, plan)
    except errors.HistoryError as error:
        return Comparison(problem=str(error))
    digests, changes = {}, {}
    for name, entry in manifest.files.items():
        digest, changed = _compare(directory.path / name, entry)
        if changed:
            changes[name] = changed
        else:
            digests[name] = digest
    for path in [*directory.journals(), *directory.audit_logs()]:
        name = path.relative_to(directory.path).as_posix()
        if name not in manifest.files:
            changes[name] = "was added: the run did not write it"
    return Comparison(
        count=len(manifest.files), changes=dict(sorted(changes.items())), digests=digests
    )


_MISSING = "manifest.json is missing: the run was interrupted, or the file was removed"


def _read(directory: directories.RunDirectory, plan: plans.Plan) -> Manifest:
    """Raise HistoryError if the manifest is damaged, has another schema or is of another run."""
    content = files.read_small(directory.manifest)
    try:
        manifest = files.decoded(content, Manifest, schemas=[SCHEMA_VERSION])
    except errors.HistoryError as error:
        raise _reject(f"expected the manifest of a run ({error})") from error
    if manifest.run_id != plan.run_id:
        raise _reject(
            f"expected the manifest of run {plan.run_id} (plan.json), got that of run "
            f"{manifest.run_id}"
        )
    strange = [name for name in manifest.files if not _is_inside(name)]
    if strange:
        raise _reject(f"expected files of the run directory, got {strange[0]!r}")
    return manifest


def _reject(why: str) -> errors.HistoryError:
    return errors.HistoryError(f"manifest.json: {why}")


def _is_inside(name: str) -> bool:
    path = pathlib.PurePosixPath(name)
    return (
        bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name
    )


def _compare(path: pathlib.Path, entry: Entry) -> tuple[str, str]:
    """Return the digest of a file, and how the file differs from its entry; empty: not at all."""
    if not os.path.lexists(path):
        return "", "is missing: it was removed after the run"
    try:
        size = files.size(path)
        digest = files.digest(path) if size == entry.bytes else ""
    except errors.HistoryError as error:
        return "", f"was changed after the run ({error})"
    if size != entry.bytes:
        return "", f"was changed after the run: it has {size:,} bytes, not {entry.bytes:,}"
    if digest != entry.digest:
        return "", "was changed after the run: its content differs, its size does not"
    return digest, ""

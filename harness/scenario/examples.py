"""The shipped examples: a scheduler, a scenario, tests and a workflow to begin with."""

import pathlib
from collections.abc import Sequence

from harness import errors, suggestions, writing
from harness.scenario import schemas
from harness.scenario.toml_files import documents

_LEFT_BEHIND = {"__pycache__", ".pytest_cache", "reports"}


def copy(folder: pathlib.Path, *, only: Sequence[str] = ()) -> list[pathlib.Path]:
    """Copy the examples into a folder, which is made if it is missing; return the new files.

    `only` are names of files and folders; empty: all. Raises UsageError for one that is none.
    Raises UsageError, and copies nothing, if the folder has one of the files; StorageError or
    UnwritableError if one cannot be written.
    """
    shipped = documents.shipped_folder("examples")
    contents = {
        str(path.relative_to(shipped)): path.read_bytes()
        for path in sorted(shipped.rglob("*.*"))
        if path.is_file() and not _LEFT_BEHIND & {*path.relative_to(shipped).parts}
    }
    contents[schemas.file_name("scenario")] = schemas.text("scenario").encode()
    contents = _chosen(contents, only) if only else contents
    targets = {folder / name: content for name, content in contents.items()}
    for target in targets:
        if target.exists():
            raise errors.UsageError(
                f"expected a folder without {target.name}, got {folder}, which has it: "
                "name another folder, or move the file away"
            )
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for target, content in targets.items():
        with writing.explained(target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
        writing.replace(target, content)
    return list(targets)


def _chosen(contents: dict[str, bytes], only: Sequence[str]) -> dict[str, bytes]:
    names = {name: {name, *map(str, pathlib.PurePath(name).parents)} for name in contents}
    known = sorted({""}.union(*names.values()) - {"", "."})
    for wanted in sorted({*only} - {*known}):
        near = suggestions.listed(
            wanted, known, title="Examples", where="flake-hunt init NEW_FOLDER"
        )
        raise errors.UsageError(f"expected the name of an example, got {wanted!r}.{near}")
    return {name: contents[name] for name, own in names.items() if own & {*only}}

"""Writes the folder of an import: all of it or nothing."""

import contextlib
import json
import pathlib
import secrets
import shutil
from collections.abc import Iterator, Sequence

import yaml

from harness import errors, writing
from harness.model.objects import Object

YAML_OBJECTS_MAX = 300
"""Objects of a file in YAML; more are written as a List in JSON, fifty times as fast."""
_Dumper: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
Files = dict[str, bytes]


def require_free(folder: pathlib.Path) -> None:
    """Raise UsageError if there is something where the folder is to be."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        what = "which has files" if folder.is_dir() else "which is a file"
        raise errors.UsageError(
            f"expected a new folder, got {folder}, {what}: name another one, or move it away"
        )


@contextlib.contextmanager
def drafted(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield a folder beside the new one, which takes its place if the block succeeds.

    Otherwise nothing is left. Raises StorageError or UnwritableError if it cannot be written.
    """
    require_free(folder)
    target = folder.absolute()
    draft = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    made = _make_parents(target.parent)
    try:
        with writing.explained(draft):
            draft.mkdir()
        yield draft
        with writing.explained(folder):
            draft.replace(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        for parent in reversed(made):
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


def _make_parents(parent: pathlib.Path) -> list[pathlib.Path]:
    missing = [one for one in (parent, *parent.parents) if not one.exists()][::-1]
    with writing.explained(parent):
        parent.mkdir(parents=True, exist_ok=True)
    return missing


def write(draft: pathlib.Path, files: Files) -> None:
    """Write the files. Raises StorageError or UnwritableError if one cannot be written."""
    for name, content in files.items():
        with writing.explained(draft / name):
            (draft / name).write_bytes(content)


def manifests(stem: str, objects: Sequence[Object]) -> Files:
    """Return a file with the objects: documents in YAML, or a List in JSON."""
    if len(objects) <= YAML_OBJECTS_MAX:
        text = yaml.dump_all(
            objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
        )
        return {f"{stem}.yaml": text.encode()}
    items = ",\n".join(json.dumps(obj, separators=(",", ":")) for obj in objects)
    return {f"{stem}.json": f'{{"apiVersion":"v1","kind":"List","items":[\n{items}\n]}}\n'.encode()}

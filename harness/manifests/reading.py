"""Reads the objects of files: the entry of this package."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from harness import errors, suggestions
from harness.manifests import api_versions, documents, server_fields, sources, yaml_documents
from harness.model.objects import Object

_LISTS_IN_LISTS_MAX = 8


def read(
    paths: Sequence[str],
    *,
    kinds: Collection[str] = (),
    of: str = "objects",
    keeps_owners: bool = False,
) -> Iterator[sources.Manifest]:
    """Yield the objects of all documents and Lists of files, in their order.

    Each is without server fields, and in today's version of resource.k8s.io.
    `kinds`: those that are allowed; empty: all. `of` is the key that names the files, for messages.
    `keeps_owners`: with `ownerReferences`.
    Raises ManifestError with file, document and object for anything else. A file without objects
    yields none.
    """
    for path in paths:
        for source, value in documents.read(path):
            for place, obj in _of_value(source, value):
                manifest = sources.Manifest(
                    obj=server_fields.dropped(obj, keeps_owners=keeps_owners), source=place
                )
                _require_kind(manifest, kinds, of)
                yield api_versions.converted(manifest)


def _of_value(
    source: sources.Source, value: Any, depth: int = 0
) -> Iterator[tuple[sources.Source, Object]]:
    obj = _object(source, value)
    if isinstance(obj.get("items"), list) and depth < _LISTS_IN_LISTS_MAX:
        kind, version = str(obj["kind"]), str(obj.get("apiVersion"))
        yaml_documents.require_list(source, kind)
        for item in obj["items"]:
            typed = yaml_documents.typed(item, kind, version)
            yield from _of_value(source, typed, depth + 1)
        return
    yield source, obj


def _object(source: sources.Source, value: Any) -> dict[str, Any]:
    """Return a value that has the outline of an object. Raises ManifestError for others."""
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else f"{value!r:.40}"
        raise errors.ManifestError(f"{source}: expected an object of the API, got {what}")
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str) or not value[key]:
            raise errors.ManifestError(
                f"{source}: expected an object of the API with {key}, got none"
            )
    metadata = value.get("metadata")
    if not isinstance(metadata, dict | None):
        raise errors.ManifestError(f"{source}: {value['kind']}: expected a mapping as metadata")
    for key in ("name", "generateName", "namespace"):
        if not isinstance((metadata or {}).get(key), str | None):
            raise errors.ManifestError(
                f"{source}: {value['kind']}: metadata.{key}: expected text: put it in quotes"
            )
    return value


def _require_kind(manifest: sources.Manifest, kinds: Collection[str], of: str) -> None:
    if not kinds or manifest.kind in kinds:
        return
    near = suggestions.did_you_mean(manifest.kind, kinds)
    raise manifest.error(
        f"expected one of {', '.join(kinds)} in {of}, got {manifest.kind} of {manifest.api_version}; "
        f"remove it from the file.{near}"
    )

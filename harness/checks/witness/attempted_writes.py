"""Writes whose answer was never given: whether one of them explains an observation.

An API server logs such a request with an error ("context canceled"), although it may have committed
the write. The object in the request shows which states it can leave behind.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from harness.checks.witness import object_states

Document = Mapping[str, Any]
_SERVERS = (
    "managedFields",
    "resourceVersion",
    "selfLink",
    "generation",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Metadata that the API server writes, whatever a client sends."""
_SENT = ("labels", "annotations", "finalizers", "ownerReferences")
_DELETING = "$deleteFromPrimitiveList/"
_EMPTY: tuple[Any, ...] = (None, "", [], {})


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A create, update or patch without an answer."""

    verb: str
    subresource: str
    sent: msgspec.Raw

    def explains(self, before: bytes, seen: bytes, *, is_deletion: bool) -> bool:
        """Return whether it leads from one version of its object to the next one.

        `before` is empty if there was no object.
        """
        try:
            sent = msgspec.json.decode(self.sent)
            return self._explains(
                sent, _read(before) if before else {}, _read(seen), is_deletion=is_deletion
            )
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            return False

    def _explains(
        self, sent: Document, before: Document, seen: Document, *, is_deletion: bool
    ) -> bool:
        if self.subresource not in ("", "status"):
            return False
        if self.verb == "create":
            return not before and not is_deletion and _creates(sent, seen)
        if not before or not _may_write(sent, before):
            return False
        if is_deletion:
            return self._ends(sent, before, seen)
        if self.verb == "patch":
            return _patches(sent, before, seen, part=self._part)
        return _updates(_nested(sent), before, seen, part=self._part)

    @property
    def _part(self) -> str:
        return "status" if self.subresource else "spec"

    def _ends(self, sent: Document, before: Document, seen: Document) -> bool:
        """Return whether it removes the last finalizer of a deleted object."""
        meta, known = sent.get("metadata") or {}, before["metadata"]
        names = ("finalizers", f"{_DELETING}finalizers")
        is_touched = self.verb == "update" or any(name in meta for name in names)
        is_last = not meta.get("finalizers") and (is_touched or not known.get("finalizers"))
        return bool(known.get("deletionTimestamp")) and is_last and _body(seen) == _body(before)


def _read(content: bytes) -> Document:
    """Return an object without empty values."""
    document: Document = _plain(_nested(msgspec.json.decode(content)))
    return document


def _nested(document: Document) -> Document:
    return {**document, "spec": object_states.nested(document.get("spec") or {})}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        found = {key: _plain(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in _EMPTY}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _may_write(sent: Document, before: Document) -> bool:
    meta, known = sent.get("metadata") or {}, before["metadata"]
    return all(meta.get(key) in ("", None, known[key]) for key in ("resourceVersion", "uid"))


def _body(document: Document) -> tuple[Any, ...]:
    """Return all that the end of an object does not change."""
    return _metadata(document, but=(*_SERVERS, "finalizers")), *_parts(document)


def _parts(document: Document) -> tuple[Any, Any]:
    return document.get("spec"), document.get("status")


def _metadata(document: Document, *, but: tuple[str, ...]) -> Document:
    return {key: item for key, item in document["metadata"].items() if key not in but}


# ----------------------------------------------------------------------------- creations


def _creates(sent: Document, seen: Document) -> bool:
    """Return whether the object has all that was sent; the server adds default values."""
    meta = _metadata(sent, but=_SERVERS)
    wanted = _plain({"metadata": meta, "spec": object_states.nested(sent.get("spec") or {})})
    return _holds(seen, wanted)


def _holds(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            _holds(found.get(key), item) for key, item in wanted.items() if not key.startswith("$")
        )
    if isinstance(wanted, list):
        items = found or []
        return isinstance(items, list) and all(
            any(_holds(one, item) for one in items) for item in wanted
        )
    return bool(found == wanted) or (found is None and wanted in _EMPTY)


# ------------------------------------------------------------------------------- updates


def _updates(sent: Document, before: Document, seen: Document, *, part: str) -> bool:
    sent, other = _plain(sent), "spec" if part == "status" else "status"
    if seen.get(part) != sent.get(part) or seen.get(other) != before.get(other):
        return False
    one, two, three = (document["metadata"] for document in (before, seen, sent))
    lawful = (one, three) if part == "status" else (three,)
    return _stays(before, seen) and all(
        any(two.get(key) == meta.get(key) for meta in lawful) for key in _SENT
    )


def _stays(before: Document, seen: Document) -> bool:
    changing = ("managedFields", "resourceVersion", "selfLink", "generation", *_SENT)
    return _metadata(before, but=changing) == _metadata(seen, but=changing)


# ------------------------------------------------------------------------------- patches


def _patches(patch: Document, before: Document, seen: Document, *, part: str) -> bool:
    """Return whether a merge patch or an applied configuration leads to the object."""
    other = "spec" if part == "status" else "status"
    meta = {**(patch.get("metadata") or {})}
    for key in (*_SERVERS, "name", "namespace"):
        meta.pop(key, None)
    written = patch.get(part) or {}
    if part == "spec":
        written = object_states.nested(written)
    return (
        _stays(before, seen)
        and seen.get(other) == before.get(other)
        and _follows(_only_sent(before), _only_sent(seen), meta)
        and _follows(before.get(part) or {}, seen.get(part) or {}, written)
    )


def _only_sent(document: Document) -> Document:
    return {key: item for key, item in document["metadata"].items() if key in _SENT}


def _follows(before: Any, seen: Any, patch: Any) -> bool:
    if patch is None or patch in _EMPTY:
        return seen is None or seen == before or seen in _EMPTY
    if isinstance(patch, Mapping):
        return _merges(before or {}, seen or {}, patch)
    if isinstance(patch, list):
        return _lists(before or [], seen or [], patch)
    return bool(seen == patch)


def _merges(before: Document, seen: Document, patch: Document) -> bool:
    for key in before.keys() | seen.keys() | patch.keys():
        if key.startswith("$"):
            continue
        if key in patch:
            is_kept = patch[key] is None and key in seen
            if is_kept or not _follows(before.get(key), seen.get(key), patch[key]):
                return False
        elif before.get(key) != seen.get(key) and f"{_DELETING}{key}" not in patch:
            return False
    return True


def _lists(before: list[Any], seen: list[Any], patch: list[Any]) -> bool:
    removed = [item for item in patch if isinstance(item, Mapping) and "$patch" in item]
    wanted = [item for item in patch if item not in removed]
    added = [item for item in seen if item not in before]
    return (
        all(any(_holds(one, item) for one in seen) for item in wanted)
        and all(any(_holds(one, item) for item in wanted) for one in added)
        and not any(_holds(one, gone) for gone in _identified(removed) for one in seen)
    )


def _identified(removed: list[Any]) -> Iterator[Document]:
    for item in removed:
        if item["$patch"] == "delete" and len(item) > 1:
            yield {key: value for key, value in item.items() if key != "$patch"}

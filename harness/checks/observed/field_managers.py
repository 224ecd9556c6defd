"""The managers of fields (`metadata.managedFields`): who wrote what an object says."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from harness.checks.observed import observed_metadata

ABSENT = msgspec.Raw()


class Entry(observed_metadata.Part, frozen=True):
    """An entry of `metadata.managedFields`."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str = ""
    fields: dict[str, Any] | None = msgspec.field(default=None, name="fieldsV1")


class _DeviceKey(msgspec.Struct):
    driver: str = ""


_key = msgspec.json.Decoder(_DeviceKey).decode
_decode = msgspec.json.Decoder(list[Entry] | None).decode


def read(content: bytes | msgspec.Raw) -> Sequence[Entry]:
    """Return the entries of a `managedFields`; none of what the API server would not write."""
    try:
        return (_decode(content) if bytes(content) else None) or ()
    except observed_metadata.NO_OBJECTS:
        return ()


def creator(content: bytes | msgspec.Raw) -> str:
    """Return the manager of an object that was just created; empty if it is not known."""
    return next((item.manager for item in read(content) if not item.subresource), "")


def owner(content: bytes | msgspec.Raw, *path: str) -> str:
    """Return the last manager of a field, such as `status`, `allocation`; empty: not known."""
    entries = reversed(read(content))
    return next((it.manager for it in entries if _within(it.fields, path) is not None), "")


def of_condition(content: bytes | msgspec.Raw, kind: str) -> str:
    """Return the manager of a condition of the status; empty: not known."""
    key, path = f'k:{{"type":"{kind}"}}', ("status", "conditions")
    owning = (item.manager for item in read(content) if key in (_within(item.fields, path) or ()))
    return next(owning, "")


def drivers_of_devices(entry: Entry) -> Iterator[str]:
    for name in _within(entry.fields, ("status", "devices")) or ():
        if name.startswith("k:"):
            with contextlib.suppress(*observed_metadata.NO_OBJECTS):
                yield _key(name.removeprefix("k:")).driver


def owns_no_more(now: Entry, before: Entry) -> bool:
    """Return whether a manager owns only what it owned before, and has not written since."""
    return now.time == before.time and _is_part(now.fields, before.fields)


def says_more(entry: Entry) -> bool:
    """Return whether a manager owns more of an object than labels, annotations and its spec."""
    fields = entry.fields or {}
    meta = fields.get("f:metadata")
    has_finalizers = isinstance(meta, dict) and "f:finalizers" in meta
    return "f:status" in fields or has_finalizers or entry.subresource == "status"


def _within(fields: Any, path: Sequence[str]) -> Any:
    """Return what a manager owns below a path; None: nothing."""
    for name in path:
        fields = fields.get(f"f:{name}") if isinstance(fields, dict) else None
    return fields


def _is_part(some: Any, whole: Any) -> bool:
    if not isinstance(some, dict) or not isinstance(whole, dict):
        return bool(some == whole)
    return all(key in whole and _is_part(value, whole[key]) for key, value in some.items())

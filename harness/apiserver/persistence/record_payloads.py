"""Record payloads of commits and objects: a letter, the resource's name, and the object's JSON."""

import msgspec

from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

FORMAT = 1
BEGIN, END = b"B", b"E"
_LETTERS: dict[watch_cache.EventType, bytes] = {"ADDED": b"A", "MODIFIED": b"M", "DELETED": b"D"}
_TYPES = {letter: kind for kind, letter in _LETTERS.items()}
_NAMES = {resources.table_of(item): item.qualified.encode() for item in reversed(resources.STORED)}
_RESOURCES = {name: item for item, name in _NAMES.items()}


class UnreadablePayloadError(Exception):
    """A payload that this version cannot decode."""


def begin(version: int) -> bytes:
    """Return the first payload of a file: its format, and the version at which it begins."""
    return b"%b %d %d" % (BEGIN, FORMAT, version)


def read_begin(payload: bytes, version: int) -> None:
    """Raise UnreadablePayloadError unless this is the first payload of a file of this version."""
    if payload != begin(version):
        wanted = begin(version).decode()
        raise UnreadablePayloadError(f"expected it to begin with {wanted!r}, got {payload[:40]!r}")


def end(count: int) -> bytes:
    """Return the last payload of a snapshot: the number of its objects."""
    return b"%b %d" % (END, count)


def write(
    resource: resources.ResourceType, kind: watch_cache.EventType, stored: stored_objects.Stored
) -> bytes:
    """Return the payload of a change."""
    return b"%b %b %b" % (_LETTERS[kind], _NAMES[resource], stored.data)


def read(payload: bytes) -> watch_cache.Change:
    """Decode the payload of a change. Raises UnreadablePayloadError."""
    letter, _, rest = payload.partition(b" ")
    name, _, data = rest.partition(b" ")
    try:
        return watch_cache.Change(_RESOURCES[name], _TYPES[letter], stored_objects.revive(data))
    except KeyError as error:
        raise UnreadablePayloadError(
            f"this version does not know the kind of record {letter!r} or the resource {name!r}"
        ) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise UnreadablePayloadError(f"expected an object, but: {error}") from error

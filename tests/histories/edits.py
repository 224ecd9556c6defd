"""Random edits of the journals of a run directory, with trailers that count what is left."""

import copy
import dataclasses
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.histories import specimens

Path = tuple[str | int, ...]
Records = list[bytes]


@dataclasses.dataclass(frozen=True, slots=True)
class Edit:
    """One change of one file."""

    text: str
    changed: specimens.Files


class Unsuited(Exception):  # noqa: N818 - an answer, not an error
    """The file has too few records for this kind of edit."""


def draw(chosen: specimens.Specimen, rng: random.Random) -> Edit:
    while True:
        name = rng.choice(sorted(chosen.journals))
        kind = rng.choice(sorted(_KINDS))
        header, *body, trailer = chosen.journals[name]
        changed = list(body)
        try:
            text = _KINDS[kind](changed, rng)
        except Unsuited:
            continue
        if changed != body:
            lines = [header, *changed, _counted(trailer, len(changed))]
            content = specimens.pack(name, lines)
            return Edit(f"{name}: {text}", {name: content})


def _counted(trailer: bytes, count: int) -> bytes:
    return re.sub(rb'"count":\d+', b'"count":%d' % count, trailer, count=1)


def _index(body: Sequence[bytes], rng: random.Random) -> int:
    if not body:
        raise Unsuited
    return rng.randrange(len(body))


def _drop(body: Records, rng: random.Random) -> str:
    index = _index(body, rng)
    return f"dropped {_about(index, body.pop(index))}"


def _drop_object(body: Records, rng: random.Random) -> str:
    uids = re.findall(rb'"uid": ?"([^"]+)"', body[_index(body, rng)])
    if not uids:
        raise Unsuited
    uid = b'"%s"' % rng.choice(uids)
    body[:] = [line for line in body if uid not in line]
    return f"dropped all records with {uid.decode()}"


def _repeat(body: Records, rng: random.Random) -> str:
    index = _index(body, rng)
    body.insert(rng.randint(index, len(body)), body[index])
    return f"repeated {_about(index, body[index])}"


def _swap(body: Records, rng: random.Random) -> str:
    one, two = _index(body, rng), _index(body, rng)
    body[one], body[two] = body[two], body[one]
    return f"swapped records {one + 1} and {two + 1}"


def _cut(body: Records, rng: random.Random) -> str:
    index = _index(body, rng)
    del body[index:]
    return f"cut from {index + 1} on"


def _empty_middle(body: Records, rng: random.Random) -> str:
    one, two = sorted((_index(body, rng), _index(body, rng)))
    del body[one:two]
    return f"dropped records {one + 1} to {two}"


def _edit(body: Records, rng: random.Random) -> str:
    index = _index(body, rng)
    document = json.loads(body[index])
    places = [path for path in _leaves(document) if path != ("record",)]
    path = rng.choice(places)
    old = _at(document, path)
    new = _other(old, path, body, rng)
    changed = copy.deepcopy(document)
    if new is _GONE:
        _remove(changed, path)
    else:
        _put(changed, path, new)
    told = f"{'.'.join(map(str, path))} of {_about(index, body[index])}"
    body[index] = json.dumps(changed, separators=(",", ":")).encode() + b"\n"
    return f"{told} {'removed' if new is _GONE else f'is {new!r}'}, was {old!r}"


_KINDS: dict[str, Callable[[Records, random.Random], str]] = {
    "cut": _cut,
    "drop": _drop,
    "drop-object": _drop_object,
    "drop-middle": _empty_middle,
    "edit": _edit,
    "edit-2": _edit,
    "edit-3": _edit,
    "repeat": _repeat,
    "swap": _swap,
}


def _about(index: int, line: bytes) -> str:
    found = json.loads(line)
    if "record" not in found:
        return f"event {index + 1} ({found.get('verb')} {found.get('requestURI')})"
    name = found.get("object", {}).get("metadata", {}).get("name", found.get("name", ""))
    parts = (found["record"], found.get("type", ""), found.get("resource", ""), name)
    return f"record {index + 1} ({' '.join(map(str, filter(None, parts)))})"


# ----------------------------------------------------------------------------- values

_GONE = object()
_STRANGE: Sequence[Any] = (None, "", 0, -1, True, [], {}, 2**40, "9" * 30)


def _leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    items: Sequence[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, inner in items:
        yield (*path, key)
        yield from _leaves(inner, (*path, key))


def _at(document: Any, path: Path) -> Any:
    for key in path:
        document = document[key]
    return document


def _put(document: Any, path: Path, value: Any) -> None:
    _at(document, path[:-1])[path[-1]] = value


def _remove(document: Any, path: Path) -> None:
    del _at(document, path[:-1])[path[-1]]


def _other(old: Any, path: Path, body: Sequence[bytes], rng: random.Random) -> Any:
    """Another value: none, one of another record, a near one, or a strange one."""
    match rng.randrange(6):
        case 0:
            return _GONE
        case 1:
            return rng.choice(_STRANGE)
        case 2 | 3:
            return _of_another(old, path, body, rng)
        case _:
            return _near(old, rng)


def _of_another(old: Any, path: Path, body: Sequence[bytes], rng: random.Random) -> Any:
    """The value at this place in another record, if there is one."""
    for _ in range(5):
        document = json.loads(rng.choice(body))
        try:
            found = _at(document, path)
        except (KeyError, IndexError, TypeError):
            continue
        if found != old:
            return found
    return _GONE


def _near(old: Any, rng: random.Random) -> Any:
    if isinstance(old, bool):
        return not old
    if isinstance(old, int | float):
        return old + rng.choice((-1, 1))
    if isinstance(old, str):
        return str(int(old) + rng.choice((-1, 1))) if old.isdigit() else f"{old}x"
    if isinstance(old, list) and old:
        return rng.choice([old[:-1], [*old, old[-1]], old[::-1]])
    return None

"""The writes behind a double allocation: both allocations, and the bindings of the pods.

They are read from the observations in one pass for all double allocations of a page.
"""

import array
import bisect
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from harness.checks import verdicts
from harness.history import histories, journal_reader, records

LINES_MAX = 60
"""Lines of one difference."""
VALUE_MAX = 300
"""Characters of a value."""
_IGNORED = frozenset({"metadata.managedFields"})
"""Paths that say who wrote a field, in many more lines than the field itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One value that was removed or added."""

    sign: str
    """`-` or `+`."""
    text: str
    """Path and value as JSON."""


def differences(before: Any, after: Any) -> list[Line]:
    """Return the removed and the added values, by path; at most LINES_MAX, then a line with `…`."""
    lines: list[Line] = []
    try:
        for line in _compared("", before, after):
            if len(lines) == LINES_MAX:
                return [*lines, Line("…", "more lines")]
            lines.append(line)
    except RecursionError:
        lines.append(Line("…", "values that are nested too deeply"))
    return lines


def _compared(path: str, before: Any, after: Any) -> Iterator[Line]:
    if path in _IGNORED or before == after:
        return
    if isinstance(before, dict | None) and isinstance(after, dict | None) and (before or after):
        old, new = before or {}, after or {}
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _compared(f"{path}.{key}".lstrip("."), old.get(key), new.get(key))
    elif _is_list(before) and _is_list(after) and (before or after):
        yield from _compared_lists(path, before or [], after or [])
    else:
        if before is not None:
            yield Line("-", f"{path}: {_shown(before)}")
        if after is not None:
            yield Line("+", f"{path}: {_shown(after)}")


def _is_list(value: Any) -> bool:
    return value is None or isinstance(value, list)


def _compared_lists(path: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[Line]:
    for index in range(max(len(old), len(new))):
        pair = (items[index] if index < len(items) else None for items in (old, new))
        yield from _compared(f"{path}[{index}]", *pair)


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= VALUE_MAX else f"{text[: VALUE_MAX - 1]}…"


_OF_CLAIM = b'{"record":"observation","resource":"resourceclaims",'
"""How the recorder begins the line of an observation of a claim."""
BYTES_MAX = 256 * 2**20
"""Largest file of observations that is read once more for its writes."""
_CLAIMS, _PODS = "resourceclaims", "pods"


@dataclasses.dataclass(frozen=True, slots=True)
class Write:
    """One commit, as its difference from the version before it."""

    title: str
    resource_version: int
    ts_ns: int
    """Monotonic time at which the recorder saw it; for display only."""
    lines: Sequence[Line]


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """One version of an object."""

    resource_version: int
    ts_ns: int
    """Monotonic time at which the recorder saw it."""
    object: dict[str, Any]
    is_gone: bool = False
    """The object was deleted; it is in its last state."""


class _Place(msgspec.Struct, frozen=True, tag_field="record", tag="observation", gc=False):
    """An observation without its object."""

    resource: str
    type: str
    resource_version: records.Int62
    ts_ns: records.Int62


_Key = tuple[str, str, str]
"""Resource, namespace, name."""


class DecidingWrites:
    """The versions of the claims and pods of double allocations."""

    def __init__(self, found: Sequence[verdicts.DoubleAllocation]) -> None:
        self._keys = {key for violation in found for key in _keys(violation)}
        self._versions: dict[_Key, list[Version]] = {}
        self._seen_ns, self._newest = array.array("q"), array.array("q")

    def read(self, history: histories.History) -> None:
        """Read the versions; nothing if the observations are too large to be read again."""
        path = history.directory.observations
        if not self._keys or not path.is_file() or path.stat().st_size > BYTES_MAX:
            return
        for item in history.observations(_decoder(self._keys)) or ():
            if isinstance(item, records.Observation | _Place) and item.type != "FINAL":
                self._note(item)
                if isinstance(item, records.Observation):
                    self._add(item)

    def _note(self, item: records.Observation | _Place) -> None:
        if item.resource == _CLAIMS:
            newest = self._newest[-1] if self._newest else 0
            self._newest.append(max(newest, item.resource_version))
            self._seen_ns.append(item.ts_ns)

    def newest(self, ts_ns: int) -> int:
        """Return the newest version of any claim that the recorder had seen; 0: none."""
        count = bisect.bisect_right(self._seen_ns, ts_ns)
        return self._newest[count - 1] if count else 0

    def versions_of_claim(self, holder: verdicts.Holder) -> list[Version]:
        """Return the versions of the claim of a holder, in order."""
        key = _CLAIMS, holder.namespace, holder.name
        return [item for item in self._versions.get(key, ()) if _uid(item) == holder.uid]

    def binding(self, namespace: str, pod: str) -> Version | None:
        """Return the version in which a pod was bound; None: it was not."""
        versions = self._versions.get((_PODS, namespace, pod), ())
        return next((item for item in versions if _is_bound(item)), None)

    def _add(self, item: records.Observation) -> None:
        try:
            version = Version(
                item.resource_version,
                item.ts_ns,
                msgspec.json.decode(item.object, type=dict),
                is_gone=item.type == "DELETED",
            )
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        meta = version.object.get("metadata")
        if isinstance(meta, dict):
            key = item.resource, str(meta.get("namespace", "")), str(meta.get("name", ""))
            if key in self._keys:
                self._versions.setdefault(key, []).append(version)

    def of(self, violation: verdicts.DoubleAllocation) -> list[Write]:
        """Return the writes of a double allocation, in the order of their commits."""
        return sorted(self._of(violation), key=lambda write: write.resource_version)

    def _of(self, violation: verdicts.DoubleAllocation) -> Iterator[Write]:
        for holder, letter in zip(violation.holders, "AB", strict=True):
            claim = _CLAIMS, holder.namespace, holder.name
            title = f"claim {letter}, {holder.name}, is allocated"
            yield from self._first(claim, title, _is_version(holder.held_from_rv))
            for pod in holder.pods:
                title = f"pod {pod} of claim {letter} is bound"
                yield from self._first((_PODS, holder.namespace, pod), title, _is_bound)

    def _first(self, key: _Key, title: str, is_it: Callable[[Version], bool]) -> Iterator[Write]:
        """Yield the first such version of an object, compared with the one before it."""
        before: dict[str, Any] = {}
        for version in self._versions.get(key, ()):
            if is_it(version):
                lines = differences(before, version.object)
                yield Write(title, version.resource_version, version.ts_ns, lines)
                return
            before = version.object


def _keys(violation: verdicts.DoubleAllocation) -> Iterator[_Key]:
    for holder in violation.holders:
        yield _CLAIMS, holder.namespace, holder.name
        yield from ((_PODS, holder.namespace, pod) for pod in holder.pods)


def _is_version(resource_version: int) -> Callable[[Version], bool]:
    return lambda version: version.resource_version == resource_version


def _uid(version: Version) -> str:
    meta = version.object.get("metadata")
    return str(meta.get("uid", "")) if isinstance(meta, dict) else ""


def _is_bound(version: Version) -> bool:
    spec = version.object.get("spec")
    return isinstance(spec, dict) and bool(spec.get("nodeName"))


_decode_place = msgspec.json.Decoder(_Place).decode


def _decoder(keys: Iterable[_Key]) -> journal_reader.Decode:
    """Return a decoder that skips lines without any of the names; of claims, their objects."""
    names = sorted({name for _, _, name in keys})
    quoted = "|".join(re.escape(msgspec.json.encode(name).decode()) for name in names)
    pattern = re.compile(f'"record":"(?:header|trailer)"|"name": ?(?:{quoted})'.encode())

    def decode(line: bytes) -> Any:
        if pattern.search(line):
            return journal_reader.decode_record(line)
        return _decode_place(line) if line.startswith(_OF_CLAIM) else None

    return decode

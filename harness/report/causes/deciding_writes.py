"""The versions of the claims and pods of violations, and the writes behind a double allocation.

They are read from the observations in one pass for all violations of a page.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from harness.checks import verdicts
from harness.history import histories, journal_reader, records
from harness.manifests import places
from harness.report import escaping

LINES_MAX = 60
"""Lines of one difference."""
VALUE_MAX = 300
"""Characters of a value."""
_IGNORED = frozenset({"metadata.managedFields"})
"""Paths that say who wrote a field, in many more lines than the field itself."""


class Line(NamedTuple):
    """One value that was removed or added."""

    sign: str
    """`-` or `+`."""
    text: str
    """Path and value as JSON."""


def differences(before: Any, after: Any) -> list[Line]:
    """Return the removed and the added values, by path; at most LINES_MAX, then a line with `…`."""
    try:
        old, new = dict(_values(before)), dict(_values(after))
    except RecursionError:
        return [Line("…", "values that are nested too deeply")]
    lines = [
        Line(sign, f"{path}: {values[path]}")
        for path in {**old, **new}
        if old.get(path) != new.get(path)
        for sign, values in (("-", old), ("+", new))
        if path in values
    ]
    return lines if len(lines) <= LINES_MAX else [*lines[:LINES_MAX], Line("…", "more lines")]


def _values(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if path in _IGNORED:
        return
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _values(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _values(item, f"{path}[{index}]")
    elif path:
        yield path, escaping.shortened(msgspec.json.encode(value).decode(), VALUE_MAX)


BYTES_MAX = 256 * 2**20
"""Largest file of observations that is read once more for its writes."""
CLAIM, POD = "ResourceClaim", "Pod"
_RESOURCES = {CLAIM: "resourceclaims", POD: "pods"}
_CLAIMS, _PODS = _RESOURCES.values()


class Write(NamedTuple):
    """One commit, as its difference from the version before it."""

    title: str
    resource_version: int
    ts_ns: int
    """Monotonic time at which the recorder saw it; for display only."""
    lines: Sequence[Line]


class Version(NamedTuple):
    """One version of an object."""

    resource_version: int
    ts_ns: int
    """Monotonic time at which the recorder saw it."""
    object: dict[str, Any]
    event: str = "MODIFIED"

    @property
    def is_gone(self) -> bool:
        """The object was deleted; it is in its last state."""
        return self.event == "DELETED"

    def part(self, place: str) -> Any:
        return places.value(self.object, place) or ""


_Key = tuple[str, str, str]
"""Resource, namespace, name."""


class DecidingWrites:
    """The versions of the claims and pods of violations."""

    def __init__(self, found: Sequence[verdicts.Violation]) -> None:
        self._keys = {key for violation in found for key in _keys(violation)}
        self._versions: dict[_Key, list[Version]] = {}

    def read(self, history: histories.History) -> None:
        """Read the versions; nothing if the observations are too large to be read again."""
        path = history.directory.observations
        if not self._keys or not path.is_file() or path.stat().st_size > BYTES_MAX:
            return
        for item in history.observations(_decoder(self._keys)) or ():
            if isinstance(item, records.Observation) and item.type != "FINAL":
                self._add(item)

    def versions(self, kind: str, namespace: str, name: str) -> Sequence[Version]:
        return self._versions.get((_RESOURCES[kind], namespace, name), ())

    def versions_of_claim(self, claim: verdicts.Holder | verdicts.InvolvedObject) -> list[Version]:
        versions = self.versions(CLAIM, claim.namespace, claim.name)
        return [item for item in versions if item.part("metadata.uid") == claim.uid]

    def binding(self, namespace: str, pod: str) -> Version | None:
        """Return the version in which a pod was bound; None: it was not."""
        return next((item for item in self.versions(POD, namespace, pod) if _is_bound(item)), None)

    def _add(self, item: records.Observation) -> None:
        try:
            found = msgspec.json.decode(item.object, type=dict)
        except journal_reader.NO_RECORD:
            return
        version = Version(item.resource_version, item.ts_ns, found, item.type)
        key = (
            item.resource,
            *(str(version.part(f"metadata.{name}")) for name in ("namespace", "name")),
        )
        if key in self._keys:
            self._versions.setdefault(key, []).append(version)

    def of(self, violation: verdicts.DoubleAllocation) -> list[Write]:
        found = []
        for holder, letter in zip(violation.holders, "AB", strict=True):
            title = f"claim {letter}, {holder.name}, is allocated"
            claim = _CLAIMS, holder.namespace, holder.name
            found.append(self._first(claim, title, holder.held_from_rv))
            for pod in holder.pods:
                title = f"pod {pod} of claim {letter} is bound"
                found.append(self._first((_PODS, holder.namespace, pod), title))
        return sorted(filter(None, found), key=lambda write: write.resource_version)

    def _first(self, key: _Key, title: str, wanted_rv: int | None = None) -> Write | None:
        """Return this version of an object, or the first bound one, beside the one before it."""
        before: dict[str, Any] = {}
        for version in self._versions.get(key, ()):
            rv = version.resource_version
            if rv == wanted_rv or (wanted_rv is None and _is_bound(version)):
                return Write(title, rv, version.ts_ns, differences(before, version.object))
            before = version.object
        return None


def _keys(violation: verdicts.Violation) -> Iterator[_Key]:
    for item in violation.objects:
        if item.kind in _RESOURCES:
            yield _RESOURCES[item.kind], item.namespace, item.name


def _is_bound(version: Version) -> bool:
    return bool(version.part("spec.nodeName"))


def _decoder(keys: Iterable[_Key]) -> journal_reader.DecodeLines:
    names = sorted({name for _, _, name in keys})
    quoted = "|".join(re.escape(msgspec.json.encode(name).decode()) for name in names)
    pattern = re.compile(f'"record":"(?:header|trailer)"|"name": ?(?:{quoted})'.encode())

    def decode(line: bytes) -> Any:
        return journal_reader.decode_record(line) if pattern.search(line) else None

    return lambda lines: map(decode, lines)

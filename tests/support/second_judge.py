"""A second judge of exclusivity, to compare with the check and the tables; it shares no code.

The definition is that of the README and not the code of the checks: a claim holds a device from the
version that writes the device into `status.allocation` to the one that removes it or deletes the
claim. If a gap in the watch hides the end, the hold ends right behind the last version before it.
Where the revisions go back, a second history begins, which cannot be put in order with the first
one: all holds end there, and none begins afterwards.
"""

import collections
import itertools
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from harness.history import directories

CLAIMS, SLICES = "resourceclaims", "resourceslices"
Record = dict[str, Any]


class Version(NamedTuple):
    """The devices that a claim holds from a version on."""

    rv: int
    ts_ns: int
    held: dict[str, tuple[str, list[Any]]]
    """Device -> `exclusive`, `share` or `admin`, and the amounts of its shares."""
    released_rv: int
    """Where the holds end that this version lacks; earlier than `rv` if a gap hides their end."""


class Hold(NamedTuple):
    """A claim holds a device."""

    device: str
    uid: str
    namespace: str
    name: str
    kind: str
    from_rv: int
    until_rv: int | None
    from_ts_ns: int

    @property
    def end_rv(self) -> float:
        return math.inf if self.until_rv is None else self.until_rv


class Count(NamedTuple):
    """The figures of one judge about a run."""

    examined: int
    """Holds that exclude others, and shares of devices that can be shared."""
    doubled: int
    """Pairs of holds that overlap though they may not."""


class _Fold:
    """The versions of all claims, in the order of the record."""

    def __init__(self) -> None:
        self.versions: dict[str, list[Version]] = collections.defaultdict(list)
        self.names: dict[str, tuple[str, str]] = {}
        self._seen: set[tuple[str, int]] = set()
        self._newest_rv = 0
        self._gap_rv: int | None = None
        self._certain_rv = 0
        """The last version before the list that is being read."""
        self._left: int | None = None
        """Objects of this list that are still to come; None: no list is being read."""
        self._listed: set[str] = set()
        self._is_rewound = False

    def see(self, record: Record) -> None:
        match record["record"]:
            case "gap":
                self._gap_rv = record["after_resource_version"]
            case "listed":
                self._begin_list(record)
            case "observation" if record["type"] != "FINAL":
                self._observe(record)

    def _begin_list(self, record: Record) -> None:
        rv = record["resource_version"]
        self._is_rewound |= record["purpose"] != "final" and rv < self._newest_rv
        if record["purpose"] == "relist":
            self._certain_rv = self._newest_rv if self._gap_rv is None else self._gap_rv
            self._left, self._listed = record["count"], set()
        self._newest_rv = max(self._newest_rv, rv)
        self.end_list()

    def _observe(self, record: Record) -> None:
        rv, obj = record["resource_version"], record["object"]
        meta, is_listed = obj["metadata"], record["type"] == "LISTED"
        uid, held = meta["uid"], _held(obj)
        if not is_listed:
            self._is_rewound |= rv < self._newest_rv
        elif self._left is not None and rv <= self._certain_rv and held:
            self._is_rewound |= (uid, rv) not in self._seen
        self._newest_rv = max(self._newest_rv, rv)
        self._seen.add((uid, rv))
        if not self._is_rewound:
            self.names.setdefault(uid, (meta["namespace"], meta["name"]))
            is_hidden = is_listed and self._left is not None
            released_rv = self._certain_rv + 1 if is_hidden else rv
            is_gone = record["type"] == "DELETED"
            version = Version(rv, record["ts_ns"], {} if is_gone else held, released_rv)
            self.versions[uid].append(version)
            self._listed.add(uid)
        if is_listed and self._left is not None:
            self._left -= 1
            self.end_list()

    def end_list(self, *, is_over: bool = False) -> None:
        """End the holds of claims that the list lacks: they went in the gap before it."""
        if self._left is None or (self._left > 0 and not is_over):
            return
        for uid in self.versions.keys() - self._listed:
            gone_rv = self._certain_rv + 1
            self.versions[uid].append(Version(gone_rv, 0, {}, gone_rv))
        self._left = None


def _held(claim: Record) -> dict[str, tuple[str, list[Any]]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    rows: dict[str, list[Record]] = collections.defaultdict(list)
    for row in allocation.get("devices", {}).get("results", ()):
        rows["/".join((row["driver"], row["pool"], row["device"]))].append(row)
    return {device: _kind(found) for device, found in rows.items()}


def _kind(rows: list[Record]) -> tuple[str, list[Any]]:
    own = [row for row in rows if not row.get("adminAccess")]
    shares = [row for row in own if row.get("shareID")]
    kind = "exclusive" if len(shares) < len(own) else "share" if own else "admin"
    return kind, [len(shares) > 0, *(row.get("consumedCapacity") for row in shares)]


def holds(records: Iterable[Record]) -> list[Hold]:
    fold = _Fold()
    for record in records:
        if record.get("resource") == CLAIMS:
            fold.see(record)
    fold.end_list(is_over=True)
    return [hold for uid in fold.versions for hold in _holds_of(fold, uid)]


def _holds_of(fold: _Fold, uid: str) -> Iterator[Hold]:
    versions = fold.versions[uid]
    for device in {device for version in versions for device in version.held}:
        hows = [version.held.get(device) for version in versions]
        for how, places in itertools.groupby(range(len(versions)), hows.__getitem__):
            if how is None:
                continue
            first, *more = places
            begin, later = versions[first], versions[first + len(more) + 1 :]
            until_rv = max(begin.rv, later[0].released_rv) if later else None
            yield Hold(device, uid, *fold.names[uid], how[0], begin.rv, until_rv, begin.ts_ns)


def count(records: list[Record]) -> Count:
    shareable = _shareable(records)
    examined = [
        hold
        for hold in holds(records)
        if hold.kind == "exclusive" or (hold.kind == "share" and hold.device in shareable)
    ]
    pairs = itertools.combinations(examined, 2)
    return Count(len(examined), sum(_are_wrong(one, two, shareable) for one, two in pairs))


def _shareable(records: Iterable[Record]) -> dict[str, bool]:
    """Device -> whether any version of a slice allows several allocations of it."""
    found: dict[str, bool] = collections.defaultdict(bool)
    for record in records:
        if record["record"] == "observation" and record["resource"] == SLICES:
            spec = record["object"]["spec"]
            for item in (
                spec.get("devices", ()) if record["type"] not in ("DELETED", "FINAL") else ()
            ):
                device = "/".join((spec["driver"], spec["pool"]["name"], item["name"]))
                found[device] |= bool(item.get("allowMultipleAllocations"))
    return found


def _are_wrong(one: Hold, two: Hold, shareable: dict[str, bool]) -> bool:
    are_shares = one.kind == two.kind == "share" and shareable[one.device]
    if one.device != two.device or one.uid == two.uid or are_shares:
        return False
    return max(one.from_rv, two.from_rv) < min(one.end_rv, two.end_rv)


def read(run: directories.RunDirectory) -> list[Record]:
    """The records of a run whose observations are not compressed, without header and trailer."""
    return [json.loads(line) for line in run.observations.read_bytes().splitlines()[1:-1]]

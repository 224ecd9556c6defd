"""The holds of a run as columns: which claim held which device from which version to which.

Checks read the columns as a table of pandas; what they show, they read as a `Hold`.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from harness.checks import verdicts
from harness.checks.holds import claim_events

if TYPE_CHECKING:
    import pandas as pd

Integers = claim_events.Integers
OPEN = -(2**63)
"""The end of a hold that has none, in its columns."""
COLUMNS = np.dtype(
    [
        ("from_rv", np.int64),
        ("from_ts_ns", np.int64),
        ("until_rv", np.int64),
        ("until_ts_ns", np.int64),
        ("device", np.int32),
        ("claim", np.int32),
        ("how", np.int32),
        ("begin", np.int32),
        ("end", np.int32),
    ]
)
"""A hold; its users are those between `begin` and `end` in `Users.codes`."""


class Hold(verdicts.Named, msgspec.Struct, kw_only=True):
    """The interval of resourceVersions in which a claim's allocation named a device."""

    device: str
    """`driver/pool/device`"""
    exclusive: bool
    """False for admin access and for a share of the device."""
    shared: bool = False
    """True for a share of the device, which other claims may share too."""
    shares: tuple[claim_events.Share, ...] = ()
    """Its shares of the device."""
    uid: str
    namespace: str
    name: str
    from_rv: int
    from_ts_ns: int
    """Monotonic time of the recorder; for display only."""
    until_rv: int | None = None
    """Exclusive; None: to the end of the history."""
    until_ts_ns: int | None = None
    pods: set[str] = set()
    """Names of all pods in `status.reservedFor` during the hold."""

    @property
    def how(self) -> claim_events.Held:
        return claim_events.Held(self.exclusive, self.shared, self.shares)


class Users(msgspec.Struct):
    """The pods that claims were reserved for."""

    names: Sequence[claim_events.Pods]
    """The different ones."""
    codes: npt.NDArray[np.int32]
    """Indexes within `names`, one for each version of each hold."""

    def between(self, begin: int, end: int) -> set[str]:
        return {pod for code in set(self.codes[begin:end].tolist()) for pod in self.names[code]}


class HoldColumns:
    """All holds, in the order in which they began; each `Hold` is made when it is asked for."""

    def __init__(
        self,
        rows: npt.NDArray[Any],
        claims: Sequence[claim_events.Life],
        devices: Mapping[str, int],
        hows: Iterable[claim_events.Held],
        users: Users,
    ) -> None:
        """`rows` as in COLUMNS, with indexes within `claims`, `devices` and `hows`."""
        self._rows, self._claims, self._users = rows, claims, users
        self._devices, self._how = devices, list(hows)
        self.device_names = list(devices)
        """`driver/pool/device` of each code in the column `device`."""

    @property
    def open_count(self) -> int:
        return int(np.count_nonzero(self.column("until_rv") == OPEN))

    def frame(self, *, end_rv: int) -> "pd.DataFrame":
        """Return all holds as a table; those that never end have `end_rv` as their end.

        Columns: `device` (a category, `driver/pool/device`), `claim` (its number), `from_rv`,
        `until_rv` (exclusive), `exclusive`, `shared`.
        """
        import pandas as pd  # 0.25 s, which commands that judge nothing do not need

        rows, names = self._rows, pd.Index(self.device_names, dtype=object)
        until, how = rows["until_rv"], rows["how"]
        return pd.DataFrame(
            {
                "device": pd.Categorical.from_codes(rows["device"], names, validate=False),
                "claim": rows["claim"],
                "from_rv": rows["from_rv"],
                "until_rv": np.where(until == OPEN, end_rv, until),
                "exclusive": np.array([item.exclusive for item in self._how], bool)[how],
                "shared": np.array([item.shared for item in self._how], bool)[how],
            },
            copy=False,
        )

    def exclusive(self) -> npt.NDArray[np.int64] | None:
        """Return the rows of the exclusive holds; None if there is a share of a device."""
        how = self.column("how")
        if any(item.shared and not item.exclusive for item in self._how):
            return None
        return np.flatnonzero(np.array([item.exclusive for item in self._how], bool)[how])

    @property
    def device_count(self) -> int:
        return len(self.device_names)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return one of the columns, of all holds; names are those in COLUMNS."""
        return self._rows[name]

    def of_device(self, device: str) -> list[Hold]:
        code = self._devices.get(device, -1)
        return self.at(np.flatnonzero(self.column("device") == code))

    def of_claims(self, namespace: str, name: str) -> list[Hold]:
        key = namespace, name
        numbers = [life.number for life in self._claims if (life.namespace, life.name) == key]
        return self.at(np.flatnonzero(np.isin(self.column("claim"), numbers)))

    def where(self, *, devices: Container[str], shared_only: bool = False) -> list[Hold]:
        """Return the holds of some devices that are exclusive or shared; or only those shared."""
        asked = np.array([name in devices for name in self.device_names], dtype=bool)
        fits = np.array(
            [how.shared or (how.exclusive and not shared_only) for how in self._how], dtype=bool
        )
        return self.at(np.flatnonzero(asked[self.column("device")] & fits[self.column("how")]))

    def at(self, rows: Iterable[Any]) -> list[Hold]:
        return [self._made(int(row)) for row in rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Hold]:
        return map(self._made, range(len(self)))

    def _made(self, row: int) -> Hold:
        from_rv, from_ts_ns, until_rv, until_ts_ns, device, claim, how_code, begin, end = (
            self._rows[row].item()
        )
        how, life = self._how[how_code], self._claims[claim]
        return Hold(
            device=self.device_names[device],
            exclusive=how.exclusive,
            shared=how.shared,
            shares=how.shares,
            uid=life.uid,
            namespace=life.namespace,
            name=life.name,
            from_rv=from_rv,
            from_ts_ns=from_ts_ns,
            until_rv=None if until_rv == OPEN else until_rv,
            until_ts_ns=None if until_ts_ns == OPEN else until_ts_ns,
            pods=self._users.between(begin, end),
        )


def disputed(
    devices: npt.NDArray[Any], begins: npt.NDArray[Any], ends: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Return for each hold, none of which is empty, whether any two of its device overlap.

    In numpy: most runs have no such device, and need no pandas, which takes 0.5 s to import.
    """
    order = np.lexsort((begins, devices))
    is_same = devices[order[1:]] == devices[order[:-1]]
    overlaps = is_same & (begins[order[1:]] < ends[order[:-1]])
    return np.isin(devices, devices[order[1:]][overlaps])


class _Devices:
    """The devices of each grant, one after the other, and how they are held."""

    def __init__(self, grants: Iterable[claim_events.Grant], used: Iterable[bool]) -> None:
        self.names: dict[str, int] = {}
        self.hows: dict[claim_events.Held, int] = {claim_events.EXCLUSIVE: 0}
        counts, devices, hows = [], [], []
        for grant, is_used in zip(grants, used, strict=True):
            held = claim_events.held(grant.allocation if is_used else None, grant.spec)
            counts.append(len(held))
            devices += [self.names.setdefault(name, len(self.names)) for name in held]
            hows += [
                0 if how is claim_events.EXCLUSIVE else self.hows.setdefault(how, len(self.hows))
                for how in held.values()
            ]
        self.counts = np.array([*counts, 0], np.int64)  # the last one is of no grant
        self.begins = np.cumsum(self.counts) - self.counts
        self.devices, self.how = np.array(devices, np.int32), np.array(hows, np.int32)


def of_events(events: claim_events.ClaimEvents, claims: Iterable[claim_events.Life]) -> HoldColumns:
    """Return the holds of all claims.

    A hold lasts as long as versions of its claim that follow each other name its device, and hold
    it in the same way.
    """
    columns = events.columns()
    used = np.bincount(columns.grant + 1, minlength=len(events.grants) + 1)[1:] > 0
    table = _Devices(events.grants, used.tolist())
    at, cell = _parts(columns, table)
    claim, device, how = columns.claim[at], table.devices[cell], table.how[cell]
    begin, end = _runs(at, claim, device, how)
    order = np.lexsort((cell[begin], columns.event[at[begin]]))
    begin, end = begin[order], end[order]
    rows = np.empty(len(begin), COLUMNS)
    rows["begin"], rows["end"] = begin, end
    rows["claim"], rows["device"], rows["how"] = claim[begin], device[begin], how[begin]
    rows["from_rv"], rows["from_ts_ns"] = events.begins(columns.event[at[begin]])
    _close(rows, events, columns, after=at[end - 1] + 1)
    users = Users(events.user_names, events.users_at(columns.event[at]))
    return HoldColumns(rows, list(claims), table.names, table.hows, users)


def _parts(columns: claim_events.Columns, table: _Devices) -> tuple[Integers, Integers]:
    """Return version and device of each device of each version, by their places in the columns.

    Those of one device and claim follow each other.
    """
    counts = table.counts[columns.grant]
    at = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    cell = table.begins[columns.grant[at]] + within
    if counts.max(initial=0) <= 1:
        return at, cell
    order = np.lexsort((at, table.devices[cell], columns.claim[at]))
    return at[order], cell[order]


def _runs(at: Integers, *same: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """Return where holds begin and end: the version after theirs is missing, or not the same."""
    begins = np.ones(len(at), bool)
    begins[1:] = at[1:] != at[:-1] + 1
    for column in same:
        begins[1:] |= column[1:] != column[:-1]
    edges = np.append(np.flatnonzero(begins), len(at))
    return edges[:-1], edges[1:]


def _close(
    rows: npt.NDArray[Any],
    events: claim_events.ClaimEvents,
    columns: claim_events.Columns,
    *,
    after: Integers,
) -> None:
    """End each hold with the version after it, if that is one of its claim."""
    rows["until_rv"], rows["until_ts_ns"] = OPEN, OPEN
    ended = np.flatnonzero(after < len(columns.claim))
    ended = ended[columns.claim[after[ended]] == rows["claim"][ended]]
    until_rv, until_ts_ns = events.ends(columns.event[after[ended]])
    rows["until_rv"][ended] = np.maximum(until_rv, rows["from_rv"][ended])
    rows["until_ts_ns"][ended] = until_ts_ns

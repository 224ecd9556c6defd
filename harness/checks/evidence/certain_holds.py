"""The holds that are certain although the observations contradict themselves.

An observation shows the state of a claim at its revision, unless it is disputed. The state stays
the same until the next observation of the claim, unless something in between is in doubt: a
revision is missing, which may have been a commit of this claim; the final list or the answer to a
write shows a version that was not observed; the watch had a gap. The claim is then certain up to
the doubtful revision, and again from its next observation on. So:

- The order of the journal does not matter: observations are put in the order of their revisions.
  That ends where the revisions go back (see `rewinds`): nothing is certain from there on.
- Copies count once. Two different observations of one revision dispute the whole lives of their
  claims, since one of them belongs elsewhere.
- An observation after the deletion of its claim is disputed, and so are all claims from then on: it
  may be another one's.
- A disputed observation says nothing; a doubted claim holds nothing until it is observed again.

All of this only ends holds earlier or begins them later. If these holds overlap, they did.

Revisions that go back: the API server's data were restored, and a second history began.

Both histories have the same revisions, so nothing may be put in order across them. A list shows
it that is older than what was observed before, or that has a claim in a version that was not seen,
although the watch had delivered all up to a later one.
"""

import collections
import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness.checks.evidence import contradictions, observed_objects
from harness.checks.holds import hold_history
from harness.checks.observed import folders, observations
from harness.history import records


@dataclasses.dataclass(slots=True)
class _List:
    """A list of claims after a gap, until its last object."""

    body: list[records.Body]
    left: int
    certain_rv: int
    """The watch has delivered everything up to here."""


class _Watcher:
    """The newest versions so far."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}
        self._known: dict[str, int] = {}
        """uid of a claim -> its newest version."""
        self._gap_rv: int | None = None
        self.list: _List | None = None

    def goes_back(self, record: records.Body) -> bool:
        """Follow a record; return whether it shows that the revisions have gone back."""
        match record:
            case records.Listed() if record.purpose != "final":
                return self._begin_list(record)
            case records.Gap(resource=observations.CLAIMS):
                self._gap_rv = record.after_resource_version
            case records.Observation() if record.type != "FINAL":
                return self._observe(record)
        return False

    def _begin_list(self, listed: records.Listed) -> bool:
        newest = self._newest.get(listed.resource, 0)
        if listed.purpose == "relist" and listed.resource == observations.CLAIMS:
            certain = newest if self._gap_rv is None else self._gap_rv
            self.list, self._gap_rv = _List([], listed.count, certain), None
        self._newest[listed.resource] = max(newest, listed.resource_version)
        return listed.resource_version < newest

    def _observe(self, seen: records.Observation) -> bool:
        resource, version = seen.resource, seen.resource_version
        if resource == observations.CLAIMS:
            uid = observations.decode(seen).object.metadata.uid
            known = self._known.get(uid, 0)
            self._known[uid] = max(known, version)
            if seen.type == "LISTED" and self.list is not None:
                self.list.left -= 1
                return known < version <= self.list.certain_rv
        self._newest[resource] = max(self._newest.get(resource, 0), version)
        return False


def before(body: Iterable[records.Body]) -> Iterator[records.Body]:
    """Yield the records before the revisions go back, without the list that shows it."""
    watcher = _Watcher()
    for record in body:
        if watcher.goes_back(record):
            return
        if watcher.list is None:
            yield record
            continue
        watcher.list.body.append(record)
        if watcher.list.left <= 0:
            yield from watcher.list.body
            watcher.list = None
    if watcher.list is not None:
        yield from watcher.list.body


def numbered(body: Iterable[records.Body]) -> Iterator[records.Body]:
    """Yield the records about claims with their places in the journal in place of revisions."""
    for place, record in enumerate(body, start=1):
        match record:
            case records.Observation(resource=observations.CLAIMS):
                yield msgspec.structs.replace(record, resource_version=place)
            case records.Listed(resource=observations.CLAIMS):
                yield msgspec.structs.replace(record, resource_version=place)
            case records.Gap(resource=observations.CLAIMS):
                yield msgspec.structs.replace(record, after_resource_version=place)


BYTES_MAX = 256 * 2**20
"""Size of the claims' observations that can be put in order; of more, nothing is certain."""


@dataclasses.dataclass(frozen=True, slots=True)
class _State:
    """The state of a claim at a revision."""

    rv: int
    uid: str
    content: int
    record: records.Observation

    @property
    def is_gone(self) -> bool:
        return self.record.type == "DELETED"


def fold(
    body: Iterable[records.Body], found: contradictions.Contradictions
) -> hold_history.HoldHistory:
    """Return the certain holds; none if there are more observations than BYTES_MAX."""
    certain = hold_history.HoldHistory()
    states, doubted = _read(before(body))
    if states is not None:
        folders.fold(_certain(states, [*found.doubts, *doubted], found.end_rv), certain)
    return certain


def fold_in_order(body: Iterable[records.Body]) -> hold_history.HoldHistory:
    """Return the holds with places in the journal in place of revisions."""
    return hold_history.fold(numbered(before(body)))


def _read(body: Iterable[records.Body]) -> tuple[list[_State] | None, list[contradictions.Doubt]]:
    """Return the claims' observations, None if they are too many; and the doubts after gaps.

    A list shows the states of its claims at the version of the list.
    """
    states: dict[tuple[int, str, str, int], _State] = {}
    doubts: list[contradictions.Doubt] = []
    listed_rv, size = 0, 0
    for record in body:
        match record:
            case records.Listed(resource=observations.CLAIMS):
                listed_rv = record.resource_version
            case records.Gap(resource=observations.CLAIMS):
                doubts.append(_doubt(from_rv=record.after_resource_version + 1))
            case records.Observation(resource=observations.CLAIMS) if record.type != "FINAL":
                size += len(record.object)
                state = _state(record, listed_rv)
                states.setdefault((state.rv, state.uid, record.type, state.content), state)
            case _:
                pass
        if size > BYTES_MAX:
            return None, doubts
    return sorted(states.values(), key=lambda state: state.rv), doubts


def _state(record: records.Observation, listed_rv: int) -> _State:
    uid = observations.decode(record).object.metadata.uid
    rv = max(record.resource_version, listed_rv if record.type == "LISTED" else 0)
    moved = msgspec.structs.replace(record, resource_version=rv)
    return _State(rv, uid, observed_objects.digest(bytes(record.object)), moved)


def _certain(
    states: Sequence[_State], doubts: Iterable[contradictions.Doubt], end_rv: int | None
) -> Iterator[records.Body]:
    """Yield the undisputed observations in order, and what ends the holds that are in doubt."""
    kept, more = _without_disputed(states)
    about_claims = [*(item for item in doubts if _is_about_claims(item)), *more]
    certain = _undoubted(kept, about_claims)
    first = {state.uid: state.rv for state in reversed(certain)}
    entries: list[tuple[int, int, int, Sequence[records.Body]]] = [
        (item.from_rv, 0, number, _forget(item))
        for number, item in enumerate(about_claims)
        if not item.uid or first.get(item.uid, item.from_rv) < item.from_rv
    ]
    entries += [(state.rv, 1, number, [state.record]) for number, state in enumerate(certain)]
    entries.sort(key=lambda entry: entry[:3])
    for rv, _, _, body in entries:
        if end_rv is not None and rv >= end_rv:
            yield from _forget(_doubt(from_rv=end_rv))
            return
        yield from body


def _without_disputed(
    states: Sequence[_State],
) -> tuple[list[_State], list[contradictions.Doubt]]:
    doubts: list[contradictions.Doubt] = []
    kept: list[_State] = []
    gone: set[str] = set()
    at_rv = collections.defaultdict[int, set[str]](set)
    contents = collections.defaultdict[tuple[int, str], set[tuple[bool, int]]](set)
    for state in states:
        if state.record.type != "LISTED":
            at_rv[state.rv].add(state.uid)
            contents[state.rv, state.uid].add((state.is_gone, state.content))
    for state in states:
        if len(at_rv[state.rv]) > 1 and state.record.type != "LISTED":
            doubts.append(_doubt(uid=state.uid, from_rv=0))
        elif len(contents[state.rv, state.uid]) > 1:
            doubts.append(_doubt(uid=state.uid, from_rv=state.rv))
        elif state.uid in gone:
            doubts.append(_doubt(from_rv=state.rv))
        else:
            kept.append(state)
        if state.is_gone:
            gone.add(state.uid)
    return kept, doubts


def _undoubted(states: Iterable[_State], doubts: Sequence[contradictions.Doubt]) -> list[_State]:
    """Return the states that no doubt disputes, of claims whose whole lives are not in doubt."""
    whole = {item.uid for item in doubts if item.uid and item.from_rv <= 0}
    disputed = {(item.from_rv, item.uid) for item in doubts}
    return [
        state
        for state in states
        if state.uid not in whole
        and (state.rv, state.uid) not in disputed
        and (state.rv, contradictions.EVERY) not in disputed
    ]


def _is_about_claims(doubt: contradictions.Doubt) -> bool:
    return doubt.resource in (contradictions.EVERY, observations.CLAIMS)


def _doubt(*, uid: str = contradictions.EVERY, from_rv: int) -> contradictions.Doubt:
    return contradictions.Doubt(resource=observations.CLAIMS, uid=uid, from_rv=from_rv)


def _forget(doubt: contradictions.Doubt) -> Sequence[records.Body]:
    """Return records that end the holds of the doubted claims.

    For one claim it is its deletion; for all of them a gap, and a list after it without any claim.
    """
    if doubt.uid:
        meta = {"name": "", "uid": doubt.uid, "resourceVersion": str(doubt.from_rv)}
        return [
            records.Observation(
                resource=observations.CLAIMS,
                type="DELETED",
                resource_version=doubt.from_rv,
                ts_ns=0,
                object=msgspec.Raw(json.dumps({"metadata": meta}).encode()),
            )
        ]
    return [
        records.Gap(
            resource=observations.CLAIMS,
            after_resource_version=doubt.from_rv - 1,
            reason="in doubt",
            ts_ns=0,
        ),
        records.Listed(
            resource=observations.CLAIMS,
            purpose="relist",
            resource_version=doubt.from_rv,
            count=0,
            ts_ns=0,
        ),
    ]

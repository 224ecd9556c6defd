"""The expected behaviour of an API server, as simple as possible: one dictionary of objects, one
list of changes for each kind.

It shares nothing with the server. It knows config maps and pods, of which only what is in `State`
matters.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

CONFIGMAPS, PODS = "configmaps", "pods"
KINDS = (CONFIGMAPS, PODS)
DEFAULT_GRACE_S = 30
ENDED = ("Succeeded", "Failed")
Selector = tuple[str, str] | None
"""A label and its value; None selects everything."""
Key = tuple[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class State:
    """One version of an object."""

    kind: str
    name: str
    uid: str = ""
    version: int = 0
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    finalizers: frozenset[str] = frozenset()
    value: str = ""
    """Of a config map."""
    node: str = ""
    phase: str = ""
    grace_s: int | None = None
    """Set when its deletion is under way."""

    @property
    def is_deleting(self) -> bool:
        return self.grace_s is not None

    def is_selected(self, selector: Selector) -> bool:
        return selector is None or self.labels.get(selector[0]) == selector[1]


@dataclasses.dataclass(frozen=True)
class Change:
    """One commit."""

    version: int
    before: State | None
    after: State | None


Event = tuple[Literal["ADDED", "MODIFIED", "DELETED"], State]


@dataclasses.dataclass(frozen=True)
class RefusedError(Exception):
    """The expected response."""

    status: int
    reason: str


class Reference:
    """All objects of one namespace."""

    def __init__(self, version: int, *, history_max: int | None = None) -> None:
        self.version = version
        self.objects: dict[Key, State] = {}
        self._changes: dict[str, list[Change]] = {kind: [] for kind in KINDS}
        self._forgotten = dict.fromkeys(KINDS, 0)
        self._history_max = history_max

    # -------------------------------------------------------------- reading

    def get(self, key: Key) -> State:
        if key not in self.objects:
            raise RefusedError(404, "NotFound")
        return self.objects[key]

    def select(self, kind: str, selector: Selector) -> list[State]:
        found = [s for s in self.objects.values() if s.kind == kind and s.is_selected(selector)]
        return sorted(found, key=lambda state: state.name)

    def events_after(self, kind: str, version: int, selector: Selector) -> list[Event]:
        """Return the events of a watch from a version on. Raises 410 if some of them are
        forgotten.
        """
        if version < self._forgotten[kind]:
            raise RefusedError(410, "Expired")
        return list(_seen(self._changes[kind], version, selector))

    def compact(self, kind: str) -> None:
        if self._changes[kind]:
            self._forgotten[kind] = self._changes[kind][-1].version
            self._changes[kind].clear()

    # -------------------------------------------------------------- writing

    def create(self, state: State) -> State:
        if (state.kind, state.name) in self.objects:
            raise RefusedError(409, "AlreadyExists")
        phase = "Pending" if state.kind == PODS else ""
        return self._commit(None, dataclasses.replace(state, phase=phase))

    def replace(self, key: Key, *, version: int | None, uid: str | None, **fields: Any) -> State:
        """An update; None is what the document leaves out."""
        old = self.get(key)
        if uid not in (None, old.uid) or version not in (None, old.version):
            raise RefusedError(409, "Conflict")
        return self._change(old, **fields)

    def patch(self, key: Key, *, version: int | None, uid: str | None, **fields: Any) -> State:
        old = self.get(key)
        if version not in (None, old.version):
            raise RefusedError(409, "Conflict")
        if uid not in (None, old.uid):
            raise RefusedError(422, "Invalid")
        return self._change(old, **fields)

    def bind(self, key: Key, node: str) -> State:
        old = self.get(key)
        if old.node or old.is_deleting:
            raise RefusedError(409, "Conflict")
        return self._commit(old, dataclasses.replace(old, node=node))

    def delete(
        self, key: Key, *, grace_s: int | None, version: int | None, uid: str | None
    ) -> State | None:
        """Return the rest of it: None, or an object whose deletion is under way."""
        old = self.get(key)
        if uid not in (None, old.uid) or version not in (None, old.version):
            raise RefusedError(409, "Conflict")
        if old.grace_s is not None:
            return self._shorten(old, grace_s)
        wanted_s = self._grace_s(old, grace_s)
        if old.kind == PODS or old.finalizers:
            old = self._commit(old, dataclasses.replace(old, grace_s=wanted_s))
        return self._end(old) if not wanted_s else old

    def _shorten(self, old: State, grace_s: int | None) -> State | None:
        """Another deletion can only shorten the grace period of a pod."""
        if old.kind != PODS or grace_s is None or old.grace_s is None or grace_s >= old.grace_s:
            return old
        new = self._commit(old, dataclasses.replace(old, grace_s=grace_s))
        return self._end(new) if not grace_s else new

    def _end(self, state: State) -> State | None:
        """Remove it, unless it has finalizers."""
        if state.finalizers:
            return state
        self._commit(state, None)
        return None

    def _grace_s(self, state: State, wanted_s: int | None) -> int:
        if state.kind != PODS or not state.node or state.phase in ENDED:
            return 0
        return DEFAULT_GRACE_S if wanted_s is None else wanted_s

    def _change(self, old: State, **fields: Any) -> State:
        new = dataclasses.replace(old, **fields)
        if old.is_deleting and new.finalizers - old.finalizers:
            raise RefusedError(422, "Invalid")
        if new == old:
            return old
        if old.is_deleting and not new.finalizers and not old.grace_s:
            self._commit(old, None)
            return new  # answered at the version before
        return self._commit(old, new)

    def _commit(self, before: State | None, after: State | None) -> State:
        self.version += 1
        state = after or before
        if state is None:
            raise ValueError("expected a state before or after")
        if after is None:
            del self.objects[state.kind, state.name]
        else:
            after = state = dataclasses.replace(after, version=self.version)
            self.objects[state.kind, state.name] = after
        self._remember(state.kind, Change(self.version, before, after))
        return state

    def _remember(self, kind: str, change: Change) -> None:
        changes = self._changes[kind]
        changes.append(change)
        if self._history_max is not None and len(changes) > self._history_max:
            self._forgotten[kind] = changes.pop(0).version

    def learn_uid(self, key: Key, uid: str) -> None:
        state = dataclasses.replace(self.objects[key], uid=uid)
        self.objects[key] = state
        last = self._changes[state.kind][-1]
        self._changes[state.kind][-1] = dataclasses.replace(last, after=state)


def _seen(changes: Sequence[Change], version: int, selector: Selector) -> Iterator[Event]:
    for change in changes:
        if change.version <= version:
            continue
        before, after = change.before, change.after
        was = before is not None and before.is_selected(selector)
        is_now = after is not None and after.is_selected(selector)
        if after is not None and is_now:
            yield ("MODIFIED" if was else "ADDED"), after
        elif before is not None and was:
            yield "DELETED", dataclasses.replace(before, version=change.version)

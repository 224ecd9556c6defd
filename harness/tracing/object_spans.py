"""Spans of pods and claims, and of the holds of devices, from what the recorder saw."""

import collections
import dataclasses
from collections.abc import Iterator

from harness.checks.observed import claim_results
from harness.live import observed_objects
from harness.tracing import spans

NAMES_MAX = 50_000
"""Most names of objects that are remembered, also of deleted ones: calls may be read later."""
_KINDS = {observed_objects.PODS: "pod", observed_objects.CLAIMS: "claim"}
_RECORDER = "recorder"


@dataclasses.dataclass(slots=True)
class _Hold:
    device: str
    begun_ns: int
    others: list[str] = dataclasses.field(default_factory=list)
    """Names of claims that held the device at the same time."""


@dataclasses.dataclass(slots=True)
class _Object:
    resource: str
    namespace: str
    name: str
    begun_ns: int
    last_ns: int
    reached_ns: int | None = None
    held: dict[str, _Hold] = dataclasses.field(default_factory=dict)


class ObjectSpans:
    """Follows the objects that exist, and yields their spans when they are gone."""

    def __init__(self) -> None:
        self._objects: dict[str, _Object] = {}
        self._holders: dict[str, dict[str, claim_results.Held]] = {}
        self._uids: collections.OrderedDict[tuple[str, str, str], str] = collections.OrderedDict()

    def uid_of(self, resource: str, namespace: str, name: str) -> str | None:
        """Return the uid of the newest object of a name; None: none was seen."""
        return self._uids.get((resource, namespace, name))

    def see(self, seen: observed_objects.Seen) -> Iterator[spans.Span]:
        """See a version of an object."""
        uid, meta = seen.object.metadata.uid, seen.object.metadata
        if seen.resource not in _KINDS or seen.type == "FINAL" or not uid:
            return
        known = self._objects.get(uid)
        if known is None:
            known = _Object(seen.resource, meta.namespace, meta.name, seen.ts_ns, seen.ts_ns)
            self._objects[uid] = known
            self._uids[seen.resource, meta.namespace, meta.name] = uid
            if len(self._uids) > NAMES_MAX:
                self._uids.popitem(last=False)
        known.last_ns = seen.ts_ns
        is_gone = seen.type == "DELETED"
        held = {} if is_gone else observed_objects.held(seen)
        yield from self._change_holds(uid, known, held, seen.ts_ns)
        status = seen.object.status
        has_reached = bool(held) or (status is not None and status.phase == "Running")
        if has_reached and known.reached_ns is None:
            known.reached_ns = seen.ts_ns
        if is_gone:
            del self._objects[uid]
            yield _root(uid, known)

    def end(self) -> Iterator[spans.Span]:
        """Yield the spans of all objects that are left, up to when they were seen last."""
        for uid, known in self._objects.items():
            for hold in known.held.values():
                yield _hold(uid, known, hold, known.last_ns)
            yield _root(uid, known)
        self._objects.clear()

    def _change_holds(
        self, uid: str, known: _Object, held: observed_objects.Held, ts_ns: int
    ) -> Iterator[spans.Span]:
        for device in [device for device in known.held if device not in held]:
            hold = known.held.pop(device)
            self._holders.get(device, {}).pop(uid, None)
            yield _hold(uid, known, hold, ts_ns)
        for device, how in held.items():
            if device not in known.held:
                known.held[device] = self._begun(uid, known, device, how, ts_ns)

    def _begun(
        self, uid: str, known: _Object, device: str, how: claim_results.Held, ts_ns: int
    ) -> _Hold:
        """Return a new hold; those that it overlaps with learn of it."""
        hold, holders = _Hold(device, ts_ns), self._holders.setdefault(device, {})
        for other_uid, other_how in holders.items():
            other = self._objects.get(other_uid)
            if other is not None and observed_objects.conflict(how, other_how):
                hold.others.append(other.name)
                other.held[device].others.append(known.name)
        holders[uid] = how
        return hold


def _hold(uid: str, known: _Object, hold: _Hold, ended_ns: int) -> spans.Span:
    also = ", ".join(sorted(set(hold.others)))
    return spans.Span(
        name="hold",
        process=_RECORDER,
        trace=uid,
        key=f"hold {hold.device} {hold.begun_ns}",
        begun_ns=hold.begun_ns,
        ended_ns=ended_ns,
        error=f"double allocation: {also} held {hold.device}, too" if also else "",
        attributes=_named(known) | {"flake_hunt.device": hold.device},
    )


def _root(uid: str, known: _Object) -> spans.Span:
    kind = _KINDS[known.resource]
    word = "Running" if kind == "pod" else "allocated"
    reached = known.reached_ns
    return spans.Span(
        name=kind,
        process=_RECORDER,
        trace=uid,
        key=spans.ROOT,
        begun_ns=known.begun_ns,
        ended_ns=known.last_ns,
        attributes=_named(known) | {"flake_hunt.object.uid": uid},
        events=() if reached is None else (spans.Event(word, reached, {}),),
    )


def _named(known: _Object) -> spans.Attributes:
    kind = _KINDS[known.resource]
    key = "k8s.pod.name" if kind == "pod" else "flake_hunt.claim.name"
    return {"k8s.namespace.name": known.namespace, key: known.name}

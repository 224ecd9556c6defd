"""The pods, claims and slices that exist at one time, as the API server published them.

Folded from the observations of a run, or kept up to date while a run goes on. A state also holds
the time of the last change that the scheduler had to react to, or by which it made progress.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from harness.checks.progress import observed_objects
from harness.history import records

PODS, CLAIMS, SLICES = "pods", "resourceclaims", "resourceslices"
TAINT_RULES = "devicetaintrules"
TYPES: dict[str, type[observed_objects.Object]] = {
    PODS: observed_objects.Pod,
    CLAIMS: observed_objects.Claim,
    SLICES: observed_objects.Slice,
}
"""The types of the objects that a state holds, by resource."""
_rule_decoder = msgspec.json.Decoder(observed_objects.TaintRule)
_decoders = {plural: msgspec.json.Decoder(kind) for plural, kind in TYPES.items()}


class WorldState:
    """The objects that exist, by uid."""

    def __init__(self) -> None:
        self.pods: dict[str, observed_objects.Pod] = {}
        self.claims: dict[str, observed_objects.Claim] = {}
        self.slices: dict[str, observed_objects.Slice] = {}
        self.taint_rules: set[str] = set()
        """UIDs of the DeviceTaintRules."""
        self.granted: set[tuple[tuple[str, ...], str]] = set()
        """Kinds of requests with selectors, and a device that such a request was given once."""
        self.moved_ns = 0
        """Time of the last change that lets the scheduler go on or shows that it does: a pod came,
        ran or went, a user's claim came or went, a slice changed, or changes may be unseen."""
        self.claims_changed_ns = 0
        """Time of the last change of any claim."""

    def follow(self, observations: Iterable[records.Body]) -> Iterator[records.Body]:
        """Yield the records of the recorder, each after noting it; final lists change nothing.

        Objects that vanished unseen remain; see `keep`.
        """
        for record in observations:
            match record:
                case records.Observation() if record.type != "FINAL":
                    self._observe(record)
                case records.Gap() | records.Listed(purpose="relist"):
                    self._moved(record.ts_ns)
                    self._claim_changed(record.ts_ns)
                case _:
                    pass
            yield record

    def keep(self, resource: str, uids: Iterable[str]) -> None:
        """Remove all objects of a resource but these."""
        table, kept = self._table(TYPES[resource]), set(uids)
        for uid in [uid for uid in table if uid not in kept]:
            del table[uid]

    def note(self, obj: observed_objects.Object, ts_ns: int) -> None:
        """Store the newest state of an object."""
        table = self._table(type(obj))
        if _milestones(table.get(obj.metadata.uid)) != _milestones(obj):
            self._moved(ts_ns)
        table[obj.metadata.uid] = obj
        if isinstance(obj, observed_objects.Claim):
            self._claim_changed(ts_ns)
            self._note_grants(obj)

    def forget(self, obj: observed_objects.Object, ts_ns: int) -> None:
        """Remove an object that was deleted."""
        self._table(type(obj)).pop(obj.metadata.uid, None)
        if _milestones(obj):
            self._moved(ts_ns)
        if isinstance(obj, observed_objects.Claim):
            self._claim_changed(ts_ns)

    def _observe(self, record: records.Observation) -> None:
        if record.resource == TAINT_RULES:
            self._note_rule(record)
        if record.resource not in _decoders:
            return
        obj = _decoders[record.resource].decode(record.object)
        if record.type == "DELETED":
            self.forget(obj, record.ts_ns)
        else:
            self.note(obj, record.ts_ns)

    def _note_rule(self, record: records.Observation) -> None:
        rule = _rule_decoder.decode(record.object)
        if record.type == "DELETED":
            self.taint_rules.discard(rule.metadata.uid)
        else:
            self.taint_rules.add(rule.metadata.uid)
        self._moved(record.ts_ns)

    def _moved(self, ts_ns: int) -> None:
        self.moved_ns = max(self.moved_ns, ts_ns)

    def _claim_changed(self, ts_ns: int) -> None:
        self.claims_changed_ns = max(self.claims_changed_ns, ts_ns)

    def _note_grants(self, claim: observed_objects.Claim) -> None:
        asked = {item.name: item.exactly for item in claim.spec.devices.requests or ()}
        for result in claim.results:
            request = asked.get(result.request)
            if request is not None and request.selectors:
                self.granted.add((request.kind, result.id))

    def _table(self, kind: type[observed_objects.Object]) -> dict[str, Any]:
        tables: dict[type[observed_objects.Object], dict[str, Any]] = {
            observed_objects.Pod: self.pods,
            observed_objects.Claim: self.claims,
            observed_objects.Slice: self.slices,
        }
        return tables[kind]


def _milestones(obj: observed_objects.Object | None) -> Sequence[object]:
    """Return what the scheduler waits for or achieves; changes of anything else do not count.

    Empty for what does not exist, and for generated claims: they come and go because of their pods,
    and a controller that makes them again and again makes no progress.
    """
    match obj:
        case observed_objects.Pod():
            runs = obj.status.phase == "Running" or obj.has_ended
            return runs, obj.has_ended, obj.metadata.deletion_timestamp
        case observed_objects.Claim() if obj.metadata.owner is None:
            return (obj.metadata.deletion_timestamp,)
        case observed_objects.Slice():
            return (obj.spec,)
        case _:
            return ()

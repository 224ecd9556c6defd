"""Which nodes could not satisfy claims of a kind, as far as that is still true.

A node that cannot give a claim its devices cannot do so either when more devices are in use. So it
need not be searched again until a device of it becomes free, a slice that it sees changes, or the
node itself does. A pod then costs as much as there are nodes with free devices to look at, not as
there are nodes. Upstream has nothing like it; it looks at every node, but on 16 cores.
"""

import collections
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.model.objects import Object
from harness.subject.allocation import allocated_states, devices, inventories

Refused = dict[str, Object]
"""The nodes that refused, by name, as they were then."""
KINDS_MAX = 16
"""Kinds of claims to remember; the one that was not used for longest is forgotten first."""
NODES_MAX = 20_000
"""Nodes to remember for one kind, including those that do not exist any more."""


class RefusalMemory:
    """The nodes that refused, by kind of claims; used by the scheduling thread."""

    def __init__(self) -> None:
        self._kinds: collections.OrderedDict[object, tuple[Refused, object]] = (
            collections.OrderedDict()
        )
        """Refusals by kind, with the DeviceClasses, which are kept so that their identities stay
        theirs."""
        self._state = allocated_states.AllocatedState()
        self._snapshot: inventories.Snapshot | None = None

    def refused(
        self,
        claims: Sequence[Object],
        classes: Mapping[str, Object],
        state: allocated_states.AllocatedState,
        snapshot: inventories.Snapshot,
    ) -> Refused:
        """Return the nodes that refuse such claims still; further ones may be added."""
        self._advance(state, snapshot)
        specs = [json.dumps(claim["spec"].get("devices"), sort_keys=True) for claim in claims]
        used = [classes.get(name) for claim in claims for name in _class_names(claim)]
        kind = (*specs, *map(id, used))
        if kind not in self._kinds:
            self._kinds[kind] = {}, used
            if len(self._kinds) > KINDS_MAX:
                self._kinds.popitem(last=False)
        self._kinds.move_to_end(kind)
        refused, _ = self._kinds[kind]
        if len(refused) > NODES_MAX:
            refused.clear()  # most of them are gone
        return refused

    def _advance(
        self, state: allocated_states.AllocatedState, snapshot: inventories.Snapshot
    ) -> None:
        """Forget the refusals of nodes that may have something to give now."""
        changed = {devices.pool_of(device) for device in state.freed_since(self._state)}
        if self._snapshot is not None and snapshot is not self._snapshot:
            changed.update(snapshot.changed_since(self._snapshot))
        for known in filter(None, (self._snapshot, snapshot)):
            self._forget(known.nodes_of(changed))
        self._state, self._snapshot = state, snapshot

    def _forget(self, names: Iterable[str | None]) -> None:
        for name in names:
            for refused, _ in self._kinds.values():
                if name is None:
                    refused.clear()
                else:
                    refused.pop(name, None)


def _class_names(claim: Object) -> Iterator[str]:
    for request in (claim["spec"].get("devices") or {}).get("requests") or ():
        for option in (request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            yield option.get("deviceClassName") or ""

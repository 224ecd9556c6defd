"""Are the observed lives of objects lawful, and does each record agree with its object?

A life begins with ADDED, or in a list; it ends with DELETED, or by missing in the list after a gap.
Its uid never comes back, and its name, namespace and creation time never change. A MODIFIED or
DELETED of an object that is not alive proves that something was lost or changed.

Of each living object its identity and newest line are kept, of each that has gone eight bytes.
"""

import array
from collections.abc import Sequence
from typing import Any, TypeAlias

from harness.checks.evidence import contradictions, observed_versions
from harness.checks.observed import folders, observations

AGREES, LAWFUL, FINAL = "records", "lives", "final-objects"
"""The items of the certificate that this module answers."""
_KINDS = {
    observations.CLAIMS: "ResourceClaim",
    observations.PODS: "Pod",
    observations.SLICES: "ResourceSlice",
    observations.NODES: "Node",
    observations.CLASSES: "DeviceClass",
    observations.TAINT_RULES: "DeviceTaintRule",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "events": "Event",
    "leases": "Lease",
    "namespaces": "Namespace",
}
"""Resource -> kind of its objects."""
_Identity: TypeAlias = tuple[str, str, str | None]
"""Name, namespace and creation time."""
_Version: TypeAlias = tuple[int, _Identity, bytes | int, Any]
"""A version of an object: resourceVersion, identity, its line or a digest of a long one, and what
is allocated to a claim."""
_CHANGES = {"MODIFIED"}
_LINE_MAX = 1536
"""Bytes of the lines that are kept; a digest takes longer to make, and less memory."""


class ObjectLives:
    """The lives of the objects of one resource."""

    def __init__(self, resource: str, found: contradictions.Contradictions) -> None:
        self._resource, self._found = resource, found
        self._kind = ""
        """The kind in the object that was seen last, as far as it is that of the resource."""
        self._alive: dict[str, _Version] = {}
        """uid -> the newest version."""
        self._born = array.array("q")
        """Digest of the uid of every life that began."""
        self._finals: set[str] = set()
        self._ends_in_gap = False
        """True if the final list came after a gap."""
        self._certain_rv = 0
        """Version up to which the watch had delivered everything before the list."""
        self._seen_in_list: set[str] | None = None
        """uids of a list after a gap that is being read; None: there is none."""
        self._followers = {
            "ADDED": self._begin,
            "MODIFIED": self._change,
            "DELETED": self._change,
            "LISTED": self._list,
            "FINAL": self._compare_final,
        }

    @property
    def births(self) -> int:
        return len(self._born)

    @property
    def finals(self) -> int:
        return len(self._finals)

    def observe_all(self, batch: folders.Batch) -> Sequence[observations.SeenAny]:
        """Follow observations of this resource.

        Return those that are no mere changes of an object that was alive, as most are.
        """
        if not self._agree(batch):
            for item in batch.seen:
                self._require_agreement(item)
        alive, is_claim, others = self._alive, batch.resource == observations.CLAIMS, []
        for item, meta, version in zip(batch.seen, batch.metas, batch.versions, strict=True):
            known = alive.get(meta.uid)
            identity = meta.name, meta.namespace, meta.creation_timestamp
            line = item.line if len(item.line) < _LINE_MAX else _digest(item.line)
            allocation = item.object.status.allocation if is_claim else None
            if item.type == "MODIFIED" and known and known[0] < version and known[1] == identity:
                alive[meta.uid] = version, known[1], line, allocation
            else:
                self._followers[item.type](item, known, (version, identity, line, allocation))
                others.append(item)
        return others

    def _agree(self, batch: folders.Batch) -> bool:
        """Return whether the objects say what their records and the objects before them say."""
        stated = [meta.resource_version for meta in batch.metas]
        kinds = [seen.object.kind for seen in batch.seen]
        are_known = kinds.count(self._kind) == len(kinds)
        return are_known and stated == list(map(str, batch.versions))

    def begin_list(self, purpose: str, *, certain_rv: int = 0, is_after_gap: bool = False) -> None:
        """Note that a list follows. The first and the final one are no news about lives.

        `certain_rv`: up to here, the watch has delivered everything.
        """
        self.end_list()
        self._ends_in_gap = is_after_gap
        self._certain_rv = certain_rv
        self._seen_in_list = set() if purpose == "relist" else None

    def end_list(self) -> None:
        """Forget the objects that a list after a gap did not show: they are gone."""
        if self._seen_in_list is not None:
            for uid in self._alive.keys() - self._seen_in_list:
                del self._alive[uid]
        self._seen_in_list = None

    def end(self, *, has_final_list: bool) -> None:
        """Look at what the end shows: uids that came back, objects missing in the final list."""
        self.end_list()
        born = observed_versions.as_integers(self._born)
        again = len(born) - len(observed_versions.distinct(born))
        if again:
            self._add(LAWFUL, f"{again:,} uids of {self._resource} came back")
        missing = self._alive.keys() - self._finals if has_final_list else ()
        for uid in sorted(missing):
            text = "were never deleted, but are missing in the final list"
            self._add(FINAL, f"{self._resource} with uid {uid} {text}", is_loss=True)

    # ----------------------------------------------------------------------- records

    def _require_agreement(self, seen: observations.SeenAny) -> None:
        stated, kind = seen.object.metadata.resource_version, seen.object.kind
        if stated != str(seen.version):
            self._dispute(AGREES, seen, f"the object says resourceVersion {stated}")
        elif kind and kind != _KINDS.get(seen.resource, kind):  # empty in the items of lists
            self._dispute(AGREES, seen, f"the object is a {kind}")
        else:
            self._kind = kind

    def _begin(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        if known is None:
            self._born.append(hash(seen.object.metadata.uid))
        else:
            is_same = known[0] == now[0] and _is_same(known, now)
            why = "was recorded twice" if is_same else "was added, but existed already"
            self._dispute(LAWFUL, seen, why)
        self._keep(seen, known, now)

    def _list(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        if self._seen_in_list is not None:
            self._seen_in_list.add(seen.object.metadata.uid)
        if known is None:
            self._born.append(hash(seen.object.metadata.uid))
        if self._seen_in_list is not None and (known or (0,))[0] < now[0] <= self._certain_rv:
            text = f"is in a list, but was not observed before {self._certain_rv}"
            self._dispute(LAWFUL, seen, text)
        elif known is None:
            pass
        elif known[0] > now[0]:
            self._dispute(LAWFUL, seen, f"is older in a list than when last seen ({known[0]})")
        elif known[0] == now[0] and not _is_same(known, now):
            self._dispute(LAWFUL, seen, "differs in a list from the same version in the watch")
        self._keep(seen, known, now)

    def _change(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        is_next = known is not None and known[0] < now[0]
        if not is_next:
            text = f"arrived after version {known[0]}" if known else self._why_not_alive(seen)
            self._dispute(LAWFUL, seen, text)
        if seen.type == "MODIFIED" or is_next:
            self._keep(seen, known, now)
        if seen.type == "DELETED" and known is not None and known[3] != now[3]:
            text = "was deleted with another allocation than it had before"
            self._dispute(LAWFUL, seen, text)
        if seen.type == "DELETED" and is_next:
            del self._alive[seen.object.metadata.uid]

    def _why_not_alive(self, seen: observations.SeenAny) -> str:
        why = "after its deletion"
        if self._found.count(LAWFUL):  # only the first one is shown, and searching takes time
            why = "while it was not alive"
        elif hash(seen.object.metadata.uid) not in self._born:
            why = "without having been added"
        return f"was {seen.type.lower()} {why}"

    def _keep(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        if known is not None and known[1] != now[1]:
            self._dispute(LAWFUL, seen, "has another name or creation time than before")
        if known is None or known[0] < now[0]:
            self._alive[seen.object.metadata.uid] = now

    def _compare_final(
        self, seen: observations.SeenAny, known: _Version | None, now: _Version
    ) -> None:
        self._finals.add(seen.object.metadata.uid)
        if known is None:
            text = "is in the final list, but was not alive"
            self._dispute(FINAL, seen, text, is_loss=True)
        elif known[0] != now[0]:
            text = f"has version {now[0]} in the final list, but {known[0]} was its last"
            self._dispute(FINAL, seen, text, is_loss=known[0] < now[0])
        elif not _is_same(known, now):
            self._dispute(FINAL, seen, "differs in the final list from the same version before")

    def _dispute(
        self, name: str, seen: observations.SeenAny, text: str, *, is_loss: bool = False
    ) -> None:
        self._add(name, f"{contradictions.titled(seen)}: {text}", is_loss=is_loss)

    def _add(self, name: str, told: str, *, is_loss: bool = False) -> None:
        is_in_gap = is_loss and self._ends_in_gap
        is_of_holds = self._resource in contradictions.OF_HOLDS
        self._found.add(name, told, doubts_holds=is_of_holds and not is_in_gap)


def _is_same(known: _Version, now: _Version) -> bool:
    one, two = (line if isinstance(line, int) else _digest(line) for line in (known[2], now[2]))
    return one == two


def _digest(line: bytes) -> int:
    """Return a digest of an object's JSON without kind and apiVersion, which come first.

    It is good for comparisons within this process only, like all digests here.
    """
    content = observations.content_of(line)
    return hash(content[max(content.find(b'"metadata"'), 0) :])

"""Are the observed lives of objects lawful, and does each record agree with its object?

A life begins with ADDED, or in a list; it ends with DELETED, or by missing in the list after a gap.
Its uid never comes back, and its name, namespace and creation time never change. A MODIFIED or
DELETED of an object that is not alive proves that something was lost or changed.

Of each living object the newest version is kept (see `newest_versions`), of each that has gone
eight bytes.

The content is only compared with that of the same version in lists, and mostly another version
follows. So a content stays as it was read until many have come after it, and only then becomes a
digest, which takes eight bytes.
"""

import array
from collections.abc import Set
from typing import TypeAlias

from harness.checks.evidence import contradictions, observed_objects, observed_versions
from harness.checks.observed import observations

BYTES_MAX = 16 * 2**20
"""Lines of observations that may be read before the newest ones become digests."""
Version: TypeAlias = tuple[int, int]
"""A version of an object: resourceVersion, digest of the identity."""


class NewestVersions:
    """The newest version of each living object of one resource."""

    def __init__(self) -> None:
        self.recent: dict[str, tuple[int, int, bytes]] = {}
        """Keyed by uid, as all that follows: version, and the line of the observation."""
        self._older: dict[str, tuple[int, int, int]] = {}
        """Version, and digest of the content; some of the objects are in `recent` again."""
        self._size = 0
        """Bytes of all lines that came to `recent` since it was empty."""

    def keep(self, seen: observations.SeenAny, identity: int) -> None:
        """Keep a version of an object instead of the one before it."""
        line = seen.line
        self.recent[seen.object.metadata.uid] = seen.version, identity, line
        self._size += len(line)
        if self._size > BYTES_MAX:
            self._condense()

    def forget(self, uid: str) -> None:
        self.recent.pop(uid, None)
        self._older.pop(uid, None)

    def version(self, uid: str) -> Version | None:
        """Return the version that is kept of an object; None: there is none."""
        known = self.recent.get(uid) or self._older.get(uid)
        return None if known is None else known[:2]

    def equals(self, seen: observations.SeenAny) -> bool:
        """Return whether an object, which must be known, has the content that is kept of it."""
        uid = seen.object.metadata.uid
        recent = self.recent.get(uid)
        known = self._older[uid][2] if recent is None else _digest(recent[2])
        return known == _digest(seen.line)

    def uids(self) -> Set[str]:
        return self.recent.keys() | self._older.keys()

    def _condense(self) -> None:
        for uid, (version, identity, line) in self.recent.items():
            self._older[uid] = version, identity, _digest(line)
        self.recent.clear()
        self._size = 0


def _digest(line: bytes) -> int:
    return observed_objects.digest(observations.content_of(line))


_Version: TypeAlias = Version
AGREES, LAWFUL, FINAL = "records", "lives", "final-objects"
"""The items of the certificate that this module answers."""


class ObjectLives:
    """The lives of the objects of one resource."""

    def __init__(self, resource: str, found: contradictions.Contradictions) -> None:
        self._resource, self._found = resource, found
        self._kind = ""
        """The kind in the object that was seen last, as far as it is that of the resource."""
        self._alive = NewestVersions()
        self._born = array.array("q")
        """Digest of the uid of every life that began."""
        self._finals: set[str] = set()
        self._certain_rv = 0
        """Version up to which the watch had delivered everything before the list."""
        self._seen_in_list: set[str] | None = None
        """uids of a list after a gap that is being read; None: there is none."""
        self._followers = {
            "ADDED": self._begin,
            "MODIFIED": self._change,
            "DELETED": self._end,
            "LISTED": self._list,
            "FINAL": self._compare_final,
        }

    @property
    def births(self) -> int:
        return len(self._born)

    @property
    def finals(self) -> int:
        return len(self._finals)

    def observe(self, seen: observations.SeenAny) -> bool:
        """Follow an observation of this resource.

        Return True only if it is a change of an object that was alive, as most observations are.
        """
        version, obj = seen.version, seen.object
        meta = obj.metadata
        if meta.resource_version != str(version) or obj.kind != self._kind:
            self._require_agreement(seen)
        known = self._alive.recent.get(meta.uid)
        identity = hash((meta.namespace, meta.name, meta.creation_timestamp or ""))
        if known and seen.type == "MODIFIED" and known[0] < version and known[1] == identity:
            self._alive.keep(seen, identity)
            return True
        self._followers[seen.type](seen, self._alive.version(meta.uid), (version, identity))
        return False

    def begin_list(self, purpose: str, *, certain_rv: int = 0) -> None:
        """Note that a list follows. The first and the final one are no news about lives.

        `certain_rv`: up to here, the watch has delivered everything.
        """
        self.end_list()
        self._certain_rv = certain_rv
        self._seen_in_list = set() if purpose == "relist" else None

    def end_list(self) -> None:
        """Forget the objects that a list after a gap did not show: they are gone."""
        if self._seen_in_list is not None:
            gone = self._alive.uids() - self._seen_in_list
            for uid in gone:
                self._alive.forget(uid)
        self._seen_in_list = None

    def end(self, *, has_final_list: bool) -> None:
        """Look at what the end shows: uids that came back, objects missing in the final list."""
        self.end_list()
        born = observed_versions.as_integers(self._born)
        again = len(born) - len(observed_versions.distinct(born))
        if again:
            self._found.add(LAWFUL, f"{again:,} uids of {self._resource} came back")
        missing = self._alive.uids() - self._finals if has_final_list else ()
        for uid in sorted(missing):
            rv, _ = self._alive.version(uid) or (0, 0)
            self._found.add(
                FINAL,
                f"{self._resource} with uid {uid} were never deleted, "
                "but are missing in the final list",
                resource=self._resource,
                uid=uid,
                from_rv=rv + 1,
            )

    # ----------------------------------------------------------------------- records

    def _require_agreement(self, seen: observations.SeenAny) -> None:
        stated = seen.object.metadata.resource_version
        if stated != str(seen.version):
            text = f"the object says resourceVersion {stated}"
            self._dispute(AGREES, seen, text, from_rv=0)
        elif observed_objects.has_foreign_kind(seen):
            self._dispute(AGREES, seen, f"the object is a {seen.object.kind}", from_rv=0)
        else:
            self._kind = seen.object.kind

    def _begin(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        if known is None:
            self._born.append(hash(seen.object.metadata.uid))
        elif known[0] == now[0] and self._alive.equals(seen):
            text = f"{observed_objects.title(seen)} at {seen.version}: was recorded twice"
            self._found.add(LAWFUL, text)
        else:
            self._dispute(LAWFUL, seen, "was added, but existed already")
            self._dispute_others(seen)
        self._keep(seen, known, now)

    def _list(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        if self._seen_in_list is not None:
            self._seen_in_list.add(seen.object.metadata.uid)
        if known is None:
            self._born.append(hash(seen.object.metadata.uid))
        if self._seen_in_list is not None and (known or (0,))[0] < now[0] <= self._certain_rv:
            text = f"is in a list, but was not observed before {self._certain_rv}"
            self._dispute(LAWFUL, seen, text)
            self._dispute_others(seen)
        elif known is None:
            pass
        elif known[0] > now[0]:
            self._dispute(LAWFUL, seen, f"is older in a list than when last seen ({known[0]})")
        elif known[0] == now[0] and not self._alive.equals(seen):
            self._dispute(LAWFUL, seen, "differs in a list from the same version in the watch")
        self._keep(seen, known, now)

    def _change(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        if known is None or known[0] >= now[0]:
            self._dispute_event(seen, known)
        self._keep(seen, known, now)

    def _end(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        if known is None or known[0] >= now[0]:
            self._dispute_event(seen, known)
        else:
            self._require_identity(seen, known, now)
            self._alive.forget(seen.object.metadata.uid)

    def _dispute_event(self, seen: observations.SeenAny, known: _Version | None) -> None:
        """Complain about an event of an object that is not alive or already has a newer version."""
        if known is not None:
            self._dispute(LAWFUL, seen, f"arrived after version {known[0]}", from_rv=0)
            return
        why = self._why_not_alive(seen.object.metadata.uid)
        self._dispute(LAWFUL, seen, f"was {seen.type.lower()} {why}")
        self._dispute_others(seen)

    def _why_not_alive(self, uid: str) -> str:
        if self._found.count(LAWFUL):  # only the first one is shown, and searching takes time
            return "while it was not alive"
        return "after its deletion" if hash(uid) in self._born else "without having been added"

    def _keep(self, seen: observations.SeenAny, known: _Version | None, now: _Version) -> None:
        """Remember the newest version; the identity has to stay the same."""
        if known is not None:
            self._require_identity(seen, known, now)
        if known is None or known[0] < now[0]:
            self._alive.keep(seen, now[1])

    def _require_identity(self, seen: observations.SeenAny, known: _Version, now: _Version) -> None:
        if known[1] != now[1]:
            self._dispute(LAWFUL, seen, "has another name or creation time than before")
            self._dispute_others(seen)

    def _compare_final(
        self, seen: observations.SeenAny, known: _Version | None, now: _Version
    ) -> None:
        self._finals.add(seen.object.metadata.uid)
        if known is None:
            self._dispute(FINAL, seen, "is in the final list, but was not alive")
        elif known[0] != now[0]:
            text = f"has version {now[0]} in the final list, but {known[0]} was its last"
            self._dispute(FINAL, seen, text, from_rv=min(known[0], now[0]) + 1)
        elif not self._alive.equals(seen):
            self._dispute(FINAL, seen, "differs in the final list from the same version before")

    def _dispute(
        self, name: str, seen: observations.SeenAny, text: str, *, from_rv: int | None = None
    ) -> None:
        """Count a contradiction about an object, and doubt it from its revision on, or another."""
        self._found.add(
            name,
            f"{observed_objects.title(seen)} at {seen.version}: {text}",
            resource=self._resource,
            uid=seen.object.metadata.uid,
            from_rv=seen.version if from_rv is None else from_rv,
        )

    def _dispute_others(self, seen: observations.SeenAny) -> None:
        """Doubt all objects from a revision on: the record may belong to another one of them."""
        self._found.doubt(resource=self._resource, from_rv=seen.version)

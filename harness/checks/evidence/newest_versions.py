"""The newest version of each living object, for comparisons with the versions that follow.

The content is only compared with that of the same version in lists, and mostly another version
follows. So a content stays as it was read until many have come after it, and only then becomes a
digest, which takes eight bytes.
"""

from collections.abc import Set
from typing import TypeAlias

from harness.checks.evidence import observed_objects
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
        """Forget an object, which is gone."""
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
        """Return the uids of all objects with a kept version."""
        return self.recent.keys() | self._older.keys()

    def _condense(self) -> None:
        for uid, (version, identity, line) in self.recent.items():
            self._older[uid] = version, identity, _digest(line)
        self.recent.clear()
        self._size = 0


def _digest(line: bytes) -> int:
    return observed_objects.digest(observations.content_of(line))

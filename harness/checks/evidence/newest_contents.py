"""The contents of living objects, for comparisons with the same versions in lists.

Most contents are never compared: another version follows. So a content stays as it was read until
many have come after it, and only then becomes a digest, which takes eight bytes.
"""

from harness.checks.evidence import observed_objects
from harness.checks.observed import observations

BYTES_MAX = 16 * 2**20
"""Lines of observations that may be read before the newest ones become digests."""


class NewestContents:
    """The content of the newest version of each object of one resource."""

    def __init__(self) -> None:
        self._digests: dict[str, int] = {}
        """By uid, as for all that follows."""
        self._recent: dict[str, bytes] = {}
        """The lines of objects whose newest content is no digest yet."""
        self._size = 0
        """Bytes of all lines that came to `_recent` since it was empty."""

    def keep(self, seen: observations.SeenAny) -> None:
        """Keep the content of an object instead of the one it had."""
        self._recent[seen.object.metadata.uid] = seen.line
        self._size += len(seen.line)
        if self._size > BYTES_MAX:
            self._condense()

    def forget(self, uid: str) -> None:
        """Forget an object, which is gone."""
        self._recent.pop(uid, None)
        self._digests.pop(uid, None)

    def equals(self, seen: observations.SeenAny) -> bool:
        """Return whether an object, which must be known, has the content that is kept of it."""
        uid = seen.object.metadata.uid
        recent = self._recent.get(uid)
        known = self._digests[uid] if recent is None else _digest(recent)
        return known == _digest(seen.line)

    def _condense(self) -> None:
        self._digests.update({uid: _digest(line) for uid, line in self._recent.items()})
        self._recent.clear()
        self._size = 0


def _digest(line: bytes) -> int:
    return observed_objects.digest(observations.content_of(line))

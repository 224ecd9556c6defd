"""Stale reads: which reads may show an older state, and which version was current some time ago.

As the watch cache of an API server may, a read shows the state at an older resourceVersion, but
never one that is older than the version it asks for; without a version it asks for the newest.
"""

import array
import bisect
from collections.abc import Callable, Mapping

STEP_S = 0.01
"""Precision of the times of versions; a state is shown up to this much older, never newer."""
_MARKS_MAX = 360_000
"""Number of times that are kept at least: an hour of commits without a pause."""


def accepts(query: Mapping[str, str], version: int) -> bool:
    """Return whether a get or list with this query accepts the state at an older version.

    Reads of exactly one version and pages of a list do not.
    """
    text, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if not text or match == "Exact" or query.get("continue"):
        return False
    asked = int(text) if text.isascii() and text.isdecimal() else 0
    is_paged = query.get("limit", "0") != "0"
    return asked <= version and (match != "" or asked == 0 or not is_paged)


class VersionTimes:
    """The times at which versions were current."""

    def __init__(self, time_s: Callable[[], float]) -> None:
        """`time_s` is a monotonic clock."""
        self._time_s = time_s
        self.clear()

    def clear(self) -> None:
        """Forget all versions: nothing was noted for some time."""
        self._times, self._versions = array.array("d"), array.array("q")

    def note(self, version: int) -> None:
        """Note that this version is the newest one now, or was a moment ago."""
        if self._versions and version == self._versions[-1]:
            return
        now_s = self._time_s()
        if len(self._times) > 1 and now_s < self._times[-2] + STEP_S:
            self._times[-1], self._versions[-1] = now_s, version
            return
        self._times.append(now_s)
        self._versions.append(version)
        if len(self._times) > 2 * _MARKS_MAX:
            del self._times[:_MARKS_MAX], self._versions[:_MARKS_MAX]

    def ago(self, seconds: float, *, first: int = 0) -> tuple[int, str] | None:
        """Return the version that was current some seconds ago, and a remark for the record.

        `first` is the oldest version that can be shown. The remark says that the state is less old
        than asked; it is empty if it is not. None: no version is known.
        """
        if not self._times:
            return None
        index = bisect.bisect_right(self._times, self._time_s() - seconds) - 1
        version = max(self._versions[max(index, 0)], first)
        if index >= 0 and version == self._versions[index]:
            return version, ""
        return version, f"the oldest state that is kept, {self.age_s(version):.1f} s old"

    def age_s(self, version: int) -> float:
        """Return the age of a version in seconds; for the oldest known one and earlier, at least.

        It is too low by at most STEP_S, and 0 for a version that is not noted yet.
        """
        index = bisect.bisect_left(self._versions, version)
        return self._time_s() - self._times[index] if index < len(self._times) else 0.0

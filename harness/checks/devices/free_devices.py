"""The devices that no other claim had, or could have had, while a scheduler chose for a claim.

A scheduler saw a claim before it chose, and with it all that had happened to claims by then: events
of one resource come in order. So the choice was made from a state between the creation of the claim
(less `LAG_S`, as parts of a scheduler may lag behind one another) and its allocation. A device was
free in all of these states if no other claim held it in that time, and none that was there already
came to hold it later: the choice for that one may have been made, and not written yet.

Choices that were never written do not show. They are of claims that never were allocated; of each
of them, as many devices are left out as a claim of the run can have.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.checks.devices import allocations, device_demand
from harness.checks.holds import hold_columns, hold_history

LAG_S = 1.0
"""Seconds by which a scheduler's book of devices may lag behind its cache of claims."""
_Rows: TypeAlias = npt.NDArray[np.int64]
_NEVER = np.iinfo(np.int64).max


class FreeDevices:
    """Counts free devices in what was observed of a run."""

    def __init__(self, folded: hold_history.HoldHistory, made: allocations.Allocations) -> None:
        self._folded, self._made = folded, made

    def count(self, names: Iterable[str], row: int) -> float:
        """Return how many of some devices were certainly free for an allocation.

        Less than nothing, if more claims than these may have had them.
        """
        claim = self._folded.claims.get(self._made.claims[row].uid)
        if claim is None:
            return 0.0
        since_ns, until_ns = claim.seen_ns - int(LAG_S * 1e9), self._made.times_ns[row]
        free = sum(self._is_free(name, row, claim.number, since_ns) for name in names)
        unseen = self._never_allocated(since_ns, until_ns)
        return free - (unseen * self._most if unseen else 0.0)

    def _is_free(self, name: str, row: int, claim: int, since_ns: int) -> bool:
        holds = self._by_device.get(name)
        if holds is None:
            return True
        version, until_ns = self._made.versions[row], self._made.times_ns[row]
        from_rv, ended_ns, numbers = (self._column(key)[holds] for key in _KEYS)
        has_been = (from_rv < version) & ((ended_ns == hold_columns.OPEN) | (ended_ns >= since_ns))
        will_be = (from_rv >= version) & (self._begun_ns[numbers] <= until_ns)
        return not np.any((has_been | will_be) & (numbers != claim))

    def _never_allocated(self, since_ns: int, until_ns: int) -> int:
        """Return how many claims were there in a time, and were never allocated."""
        begun, gone = self._unallocated
        return int(np.count_nonzero((begun <= until_ns) & (gone >= since_ns)))

    def _column(self, name: str) -> _Rows:
        found: _Rows = self._folded.holds.column(name)
        return found

    @functools.cached_property
    def _by_device(self) -> Mapping[str, _Rows]:
        codes = self._column("device")
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(self._folded.holds.device_count + 1))
        names: Sequence[str] = self._folded.holds.device_names
        return {name: order[bounds[i] : bounds[i + 1]] for i, name in enumerate(names)}

    @functools.cached_property
    def _begun_ns(self) -> _Rows:
        """When each claim was seen first, by its number."""
        lives = sorted(self._folded.claims.values(), key=lambda life: life.number)
        return np.array([life.seen_ns for life in lives], dtype=np.int64)

    @functools.cached_property
    def _unallocated(self) -> tuple[_Rows, _Rows]:
        lives = [life for life in self._folded.claims.values() if life.ready_ns is None]
        gone = [_NEVER if life.gone_ns is None else life.gone_ns for life in lives]
        begun = [life.seen_ns for life in lives]
        return np.array(begun, dtype=np.int64), np.array(gone, dtype=np.int64)

    @functools.cached_property
    def _most(self) -> float:
        specs = [grant.spec.requests or () for grant in self._made.grants]
        return max(map(device_demand.most, specs), default=0.0)


_KEYS = ("from_rv", "until_ts_ns", "claim")

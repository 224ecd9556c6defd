"""The holds of a run as arrays, in which checks search a million of them at once."""

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HoldArrays:
    """One element of each array for each hold; they may share the memory of `HoldColumns`."""

    device: Codes
    """Index within `device_names`."""
    device_names: Sequence[str]
    """`driver/pool/device`"""
    claim: Codes
    """Number of the claim."""
    from_rv: Integers
    until_rv: Integers
    """Exclusive; one value behind all others for holds that never end."""
    from_ts_ns: Integers
    until_ts_ns: Integers
    """Monotonic times of the recorder; -1 for holds that never end."""
    exclusive: Flags
    shared: Flags

    def __len__(self) -> int:
        """Return the number of holds."""
        return len(self.device)

    @property
    def device_count(self) -> int:
        """The number of devices that are held."""
        return int(np.count_nonzero(np.bincount(self.device)))

    def at(self, rows: Integers) -> "HoldArrays":
        """Return the holds of these rows, in their order."""
        return HoldArrays(
            device=self.device[rows],
            device_names=self.device_names,
            claim=self.claim[rows],
            from_rv=self.from_rv[rows],
            until_rv=self.until_rv[rows],
            from_ts_ns=self.from_ts_ns[rows],
            until_ts_ns=self.until_ts_ns[rows],
            exclusive=self.exclusive[rows],
            shared=self.shared[rows],
        )

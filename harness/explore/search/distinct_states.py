"""Count distinct states in constant memory."""

import math

_BITS = 1 << 26


class Distinct:
    """Number of distinct hashes added, by linear counting (Whang et al., TODS 1990).

    Each hash sets one of 2²⁶ bits (8 MiB); the count follows from how many are still clear. It is
    exact to one or two up to some ten thousand states, and to about 0.1 % at tens of millions.
    """

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)
        self._set = self._added = 0

    def add(self, state: int) -> None:
        """Add a state, new or known."""
        self._added += 1
        place = state % _BITS
        mask = 1 << (place & 7)
        if not self._bits[place >> 3] & mask:
            self._bits[place >> 3] |= mask
            self._set += 1

    def __len__(self) -> int:
        clear = max(_BITS - self._set, 1)
        return min(round(-_BITS * math.log(clear / _BITS)), self._added)

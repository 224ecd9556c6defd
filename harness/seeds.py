"""Named random streams, all derived from one seed.

The seed is printed first. A stream is named by its use, `seeds.stream("traffic", worker)`, so that
a new use never shifts the numbers of another stream.
"""

import dataclasses
import hashlib
import random
import secrets

SEED_BITS = 63
"""Seeds fit a signed 64-bit integer."""


def fresh() -> int:
    """Return a new random seed; print it before anything else."""
    return secrets.randbits(SEED_BITS)


@dataclasses.dataclass(frozen=True, slots=True)
class Seeds:
    """The random streams of a run."""

    seed: int

    def derive(self, *names: object) -> int:
        """Return the seed for a part of the run; the same names give the same seed."""
        text = "/".join([str(self.seed), *map(str, names)])
        digest = hashlib.sha256(text.encode()).digest()
        return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)

    def stream(self, *names: object) -> random.Random:
        return random.Random(self.derive(*names))

"""Named random streams, all drawn from one seed.

The seed is printed first. A stream is named by its use, `seeds.stream("traffic", worker)`, so that adding a use never
shifts the numbers that another one draws.
"""

import dataclasses
import hashlib
import random
import secrets

SEED_BITS = 63


def fresh() -> int:
    """A seed nobody has chosen; print it before anything else."""
    return secrets.randbits(SEED_BITS)


@dataclasses.dataclass(frozen=True, slots=True)
class Seeds:
    """All random streams of a run, given its seed."""

    seed: int

    def derive(self, *names: object) -> int:
        """A seed for a part of the run: the same names give the same number."""
        text = "/".join([str(self.seed), *map(str, names)])
        digest = hashlib.sha256(text.encode()).digest()
        return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)

    def stream(self, *names: object) -> random.Random:
        """The random stream of these names."""
        return random.Random(self.derive(*names))

"""Versions of objects that were observed or written, 16 bytes each; of claims, 24."""

import array
import operator
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


class Versions(msgspec.Struct):
    """Versions of objects as digests of uid and resourceVersion.

    The digests are good for comparisons within this process only.
    """

    digests: "array.array[int]" = msgspec.field(default_factory=lambda: array.array("q"))
    held: "array.array[int]" = msgspec.field(default_factory=lambda: array.array("q"))
    """Digests of the versions of claims with their devices."""
    rvs: "array.array[int]" = msgspec.field(default_factory=lambda: array.array("q"))

    def add(self, uid: str, rv: int, devices: int | None = None) -> None:
        """Add one version of an object.

        `devices`: the digest of those of a claim, None if they are not known.
        """
        version = digest(uid, rv)
        self.digests.append(version)
        self.rvs.append(rv)
        if devices is not None:
            self.held.append(version ^ devices)

    def add_all(self, uids: Sequence[str], rvs: Sequence[int]) -> None:
        self.digests.extend(map(operator.xor, map(hash, uids), rvs))
        self.rvs.extend(rvs)

    def extend(self, uids: Integers, rvs: Integers, devices: Integers) -> None:
        """Add versions of claims, by the digests of their uids and devices."""
        self.digests.frombytes((uids ^ rvs).tobytes())
        self.rvs.frombytes(rvs.tobytes())
        self.held.frombytes((uids ^ rvs ^ devices).tobytes())

    def numbers(self) -> Integers:
        return as_integers(self.rvs)

    def __len__(self) -> int:
        return len(self.digests)


def digest(uid: str, rv: int) -> int:
    """Return a number for a version of an object, which differs for all versions of one uid."""
    return hash(uid) ^ rv


def digest_of_devices(devices: Iterable[str]) -> int:
    """Return a number for the devices that a claim holds."""
    return hash(tuple(devices))


def as_integers(content: "array.array[int]") -> Integers:
    """Return an array of 64-bit integers without copying them."""
    return np.frombuffer(content, dtype=np.int64) if content else np.empty(0, np.int64)


def distinct(numbers: Integers) -> Integers:
    """Return the different numbers in order.

    `np.unique` looks each one up in a hash table, which takes 70 times as long for a million.
    """
    ordered = np.sort(numbers)
    found: Integers = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return found


def missing(
    wanted: "array.array[int]",
    known: "array.array[int]",
    *,
    where: npt.NDArray[np.bool_] | None = None,
) -> set[int]:
    """Return the wanted numbers that are not among the known ones.

    `np.isin` builds a hash table, which takes many times as long for a million.
    """
    numbers, ordered = as_integers(wanted), np.sort(as_integers(known))
    numbers = numbers if where is None else numbers[where]
    if not len(ordered):
        return set(numbers.tolist())
    places = np.searchsorted(ordered, numbers)
    return set(numbers[ordered[np.minimum(places, len(ordered) - 1)] != numbers].tolist())

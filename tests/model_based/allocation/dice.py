"""Random choices that count the features which they bring into a problem."""

import collections
import random
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Dice:
    """The choices of one problem."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.features: collections.Counter[str] = collections.Counter()
        """How often each feature occurs."""

    def sometimes(self, feature: str, one_in: int) -> bool:
        """Return True once in a while, and count the feature then."""
        if self._random.randrange(one_in):
            return False
        self.features[feature] += 1
        return True

    def one_of(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def some_of(self, options: Sequence[T], count: int) -> list[T]:
        chosen = sorted(self._random.sample(range(len(options)), min(count, len(options))))
        return [options[index] for index in chosen]

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def named(self, feature: str, value: Any) -> Any:
        self.features[feature] += 1
        return value

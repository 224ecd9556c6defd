"""The draws of which a random world is made."""

import random
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


class DrawingStream:
    """Draws parts of a world. Equal seeds give equal worlds."""

    def __init__(self, stream: random.Random) -> None:
        self._stream = stream
        self._features: dict[str, None] = {}

    @property
    def features(self) -> tuple[str, ...]:
        """The features drawn so far, each once."""
        return tuple(self._features)

    def note(self, feature: str) -> None:
        self._features[feature] = None

    def chance(self, probability: float, feature: str = "") -> bool:
        """Return True with this probability, and remember the feature then."""
        is_drawn = self._stream.random() < probability
        if is_drawn and feature:
            self.note(feature)
        return is_drawn

    def one_of(self, options: Sequence[_T]) -> _T:
        return self._stream.choice(options)

    def weighted(self, options: Sequence[tuple[_T, float]]) -> _T:
        values = [value for value, _ in options]
        return self._stream.choices(values, [weight for _, weight in options])[0]

    def some_of(self, options: Sequence[_T], count: int) -> list[_T]:
        return self._stream.sample(options, min(count, len(options)))

    def number(self, least: int, most: int) -> int:
        return self._stream.randint(least, most)

"""LRU caches for functions of small texts.

Large texts are never cached, so that clients cannot fill the memory with them.
"""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

CHARACTERS_MAX = 1024
"""Maximum length of a cached text, in characters or bytes."""
P = ParamSpec("P")
Text = TypeVar("Text", str, bytes)
Result = TypeVar("Result")


def small_texts(
    size: int,
) -> Callable[[Callable[Concatenate[Text, P], Result]], Callable[Concatenate[Text, P], Result]]:
    """Decorate a function like `functools.lru_cache(size)`; do not cache long first arguments."""

    def decorate(
        function: Callable[Concatenate[Text, P], Result],
    ) -> Callable[Concatenate[Text, P], Result]:
        cached = functools.lru_cache(size)(function)

        @functools.wraps(function)
        def call(text: Text, /, *more: P.args, **named: P.kwargs) -> Result:
            if len(text) > CHARACTERS_MAX:
                return function(text, *more, **named)
            return cached(text, *more, **named)  # type: ignore[arg-type]

        return call

    return decorate


def small_text(
    size: int,
) -> Callable[[Callable[[Text], Result]], Callable[[Text], Result]]:
    """Decorate a function of one text like `small_texts`, with less overhead per call."""

    def decorate(function: Callable[[Text], Result]) -> Callable[[Text], Result]:
        cached = functools.lru_cache(size)(function)

        @functools.wraps(function)
        def call(text: Text) -> Result:
            return cached(text) if len(text) <= CHARACTERS_MAX else function(text)

        return call

    return decorate

"""Remember what small texts mean; large ones are looked at each time, because a cache of them would fill the memory."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

CHARACTERS_MAX = 1024
P = ParamSpec("P")
Text = TypeVar("Text", str, bytes)
Result = TypeVar("Result")


def small_texts(
    size: int,
) -> Callable[[Callable[Concatenate[Text, P], Result]], Callable[Concatenate[Text, P], Result]]:
    """Decorate a function like `functools.lru_cache`, but keep nothing whose first argument is long."""

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
    """Decorate a function of one text; a call costs less than with `small_texts`."""

    def decorate(function: Callable[[Text], Result]) -> Callable[[Text], Result]:
        cached = functools.lru_cache(size)(function)

        @functools.wraps(function)
        def call(text: Text) -> Result:
            return cached(text) if len(text) <= CHARACTERS_MAX else function(text)

        return call

    return decorate

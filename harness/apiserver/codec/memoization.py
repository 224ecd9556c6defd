"""LRU caches for functions of small texts and small documents.

Large arguments are never cached, so that clients cannot fill the memory with them.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec, TypeVar

from harness.apiserver.codec import json_codec

CHARACTERS_MAX = 1024
"""Maximum length of a cached text, in characters or bytes."""
DOCUMENTS_MAX = 1024
"""Number of documents whose results one cache keeps."""
DOCUMENT_BYTES_MAX = 4096
"""Maximum size of a cached document, in bytes of JSON."""
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


def small_documents(
    rule: Callable[[dict[str, Any]], Iterable[Result]],
) -> Callable[[dict[str, Any]], Iterable[Result]]:
    """Return a function of a document with a cache of its results by the document's JSON.

    Objects that are created from one template have equal specs.
    """

    @functools.lru_cache(DOCUMENTS_MAX)
    def cached(data: bytes) -> tuple[Result, ...]:
        return tuple(rule(json_codec.decode(data)))

    def call(document: dict[str, Any]) -> Iterable[Result]:
        data = json_codec.encode(document)
        return cached(data) if len(data) <= DOCUMENT_BYTES_MAX else rule(document)

    return call

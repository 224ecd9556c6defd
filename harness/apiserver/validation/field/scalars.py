"""Rules about single fields of a document: there, one of a few words, within a range. Each yields what is wrong, nothing when it is fine."""

from collections.abc import Iterator, Sequence

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document

FILE_MODE_MAX = 0o777
PORT_MAX = 65535
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
ID_MAX = 2**31 - 1


def required(document: Document, at: str, *keys: str) -> Iterator[Cause]:
    """Fields that may not be empty."""
    for key in keys:
        if not document.get(key):
            yield field_errors.required(f"{at}.{key}")


def chosen(document: Document, at: str, key: str, known: Sequence[str]) -> Iterator[Cause]:
    """A field that, when it is there at all, is one of a few words."""
    return one_of(document.get(key), f"{at}.{key}", known)


def one_of(value: str | None, at: str, known: Sequence[str]) -> Iterator[Cause]:
    """Like `chosen`, for the value itself."""
    if value is not None and value not in known:
        yield field_errors.unsupported(at, value, known)


def named(document: Document, at: str, key: str, known: Sequence[str], why: str) -> Iterator[Cause]:
    """A field that has to be one of a few words, with a word on why it must be there."""
    if not document.get(key):
        yield field_errors.required(f"{at}.{key}", why)
    else:
        yield from chosen(document, at, key, known)


def between(value: int | None, at: str, low: int, high: int) -> Iterator[Cause]:
    """A number within a range."""
    if value is not None and not low <= value <= high:
        yield field_errors.invalid(at, value, f"must be between {low} and {high}, inclusive")


def file_mode(document: Document, at: str, key: str) -> Iterator[Cause]:
    """The permissions of a file."""
    mode = document.get(key)
    if mode is not None and not 0 <= mode <= FILE_MODE_MAX:
        why = "must be a number between 0 and 0777 (octal), both inclusive"
        yield field_errors.invalid(f"{at}.{key}", mode, why)


def exclusive(document: Document, at: str, keys: Sequence[str], what: str) -> Iterator[Cause]:
    """Of these fields only the first that is there may be there."""
    for key in [key for key in keys if document.get(key) is not None][1:]:
        yield field_errors.forbidden(f"{at}.{key}", f"may not specify more than 1 {what} type")

"""The kinds of error a field can have, worded as the server words them."""

from collections.abc import Sequence

from harness.apiserver import statuses
from harness.apiserver.rules import printing
from harness.apiserver.statuses import Cause

_OMITTED = '"<value omitted>"'


def invalid(at: str, value: object, why: str) -> Cause:
    """A value that may not be."""
    return statuses.invalid_value(at, printing.shown(value), why)


def omitted(at: str, why: str) -> Cause:
    """A value that may not be, and is not worth printing."""
    return statuses.invalid_value(at, _OMITTED, why)


def immutable(at: str, value: object) -> Cause:
    """A value that may not change; `value` is the new one."""
    return invalid(at, value, "field is immutable")


required = statuses.required
forbidden = statuses.forbidden


def duplicate(at: str, value: object) -> Cause:
    """A value that is there already."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {printing.shown(value)}", at)


def duplicate_because(at: str, value: object, why: str) -> Cause:
    """A value that is there already, with a word on what makes it the same."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {printing.shown(value)}: {why}", at)


def not_found(at: str, value: object, why: str = "") -> Cause:
    """A reference to something that is not there."""
    text = f"Not found: {printing.shown(value)}"
    return Cause("FieldValueNotFound", f"{text}: {why}" if why else text, at)


def too_many(at: str, count: int, limit: int) -> Cause:
    """A list that is too long."""
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} items", at)


def too_long(at: str, bytes_max: int) -> Cause:
    """A text that is too long."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {bytes_max} bytes", at)


def unsupported(at: str, value: object, known: Sequence[str]) -> Cause:
    """A value outside an enumeration."""
    names = ", ".join(printing.quoted(name) for name in known)
    message = f"Unsupported value: {printing.shown(value)}: supported values: {names}"
    return Cause("FieldValueNotSupported", message, at)

"""The kinds of error a field can have, worded as the server words them."""

from collections.abc import Sequence

from harness.apiserver.rules import printing
from harness.apiserver.statuses import Cause

_OMITTED = '"<value omitted>"'


def invalid(at: str, value: object, why: str) -> Cause:
    """A value that may not be."""
    return Cause("FieldValueInvalid", f"Invalid value: {printing.shown(value)}: {why}", at)


def omitted(at: str, why: str) -> Cause:
    """A value that may not be, and is not worth printing."""
    return Cause("FieldValueInvalid", f"Invalid value: {_OMITTED}: {why}", at)


def immutable(at: str, value: object) -> Cause:
    """A value that may not change; `value` is the new one."""
    return invalid(at, value, "field is immutable")


def required(at: str, why: str = "") -> Cause:
    """A value that is missing."""
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", at)


def forbidden(at: str, why: str) -> Cause:
    """A value that may not be given here."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", at)


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

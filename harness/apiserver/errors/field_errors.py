"""The kinds of error a field can have, worded as the server words them."""

import dataclasses
from collections.abc import Sequence

from harness.apiserver.codec import go_values


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """One field that is wrong."""

    reason: str
    """FieldValueInvalid, FieldValueRequired, FieldValueForbidden, …"""
    message: str
    field: str

    def text(self) -> str:
        """`spec.x: Required value`."""
        return f"{self.field}: {self.message}"

    def to_detail(self) -> dict[str, str]:
        """As the details of a Status have it."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


_OMITTED = '"<value omitted>"'


def invalid(at: str, value: object, why: str) -> Cause:
    """A value that may not be."""
    return invalid_value(at, go_values.shown(value), why)


def omitted(at: str, why: str) -> Cause:
    """A value that may not be, and is not worth printing."""
    return invalid_value(at, _OMITTED, why)


def immutable(at: str, value: object) -> Cause:
    """A value that may not change; `value` is the new one."""
    return invalid(at, value, "field is immutable")


def duplicate(at: str, value: object) -> Cause:
    """A value that is there already."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {go_values.shown(value)}", at)


def duplicate_because(at: str, value: object, why: str) -> Cause:
    """A value that is there already, with a word on what makes it the same."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {go_values.shown(value)}: {why}", at)


def not_found(at: str, value: object, why: str = "") -> Cause:
    """A reference to something that is not there."""
    text = f"Not found: {go_values.shown(value)}"
    return Cause("FieldValueNotFound", f"{text}: {why}" if why else text, at)


def too_many(at: str, count: int, limit: int) -> Cause:
    """A list that is too long."""
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} items", at)


def too_long(at: str, bytes_max: int) -> Cause:
    """A text that is too long."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {bytes_max} bytes", at)


def unsupported(at: str, value: object, known: Sequence[str]) -> Cause:
    """A value outside an enumeration."""
    names = ", ".join(go_values.quoted(name) for name in known)
    message = f"Unsupported value: {go_values.shown(value)}: supported values: {names}"
    return Cause("FieldValueNotSupported", message, at)


def invalid_value(field: str, value: str, why: str) -> Cause:
    """A value that may not be; `value` is the text of it as the server would print it."""
    return Cause("FieldValueInvalid", f"Invalid value: {value}: {why}", field)


def required(field: str, why: str = "") -> Cause:
    """A value that is missing."""
    return Cause("FieldValueRequired", f"Required value{': ' + why if why else ''}", field)


def forbidden(field: str, why: str) -> Cause:
    """A value that may not be given here."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def unsupported_option(field: str, value: str, known: Sequence[str]) -> Cause:
    """A value outside an enumeration."""
    names = ", ".join(f'"{name}"' for name in known)
    message = f'Unsupported value: "{value}": supported values: {names}'
    return Cause("FieldValueNotSupported", message, field)

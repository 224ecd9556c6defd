"""Field errors; `at` is the path of the field.

After k8s.io/apimachinery/pkg/util/validation/field/errors.go.
"""

import dataclasses
from collections.abc import Sequence

from harness.apiserver import json_codec


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """One field error: an entry of `details.causes` of a `Status`."""

    reason: str
    """FieldValueInvalid, FieldValueRequired, FieldValueForbidden, …"""
    message: str
    field: str

    def text(self) -> str:
        """Return the error as messages quote it: `spec.x: Required value`."""
        return f"{self.field}: {self.message}"

    def to_detail(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.message, "field": self.field}


def _shown(value: object) -> str:
    return json_codec.encode(value).decode()


def invalid(at: str, value: object, why: str) -> Cause:
    """Report a malformed or forbidden value."""
    return Cause("FieldValueInvalid", f"Invalid value: {_shown(value)}: {why}", at)


def immutable(at: str, value: object) -> Cause:
    """Report a change of an immutable field; `value` is the new value."""
    return invalid(at, value, "field is immutable")


def duplicate(at: str, value: object) -> Cause:
    """Report a value that occurs more than once."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {_shown(value)}", at)


def not_found(at: str, value: object, why: str = "") -> Cause:
    """Report a reference to something that does not exist."""
    text = f"Not found: {_shown(value)}"
    return Cause("FieldValueNotFound", f"{text}: {why}" if why else text, at)


def too_many(at: str, count: int, limit: int) -> Cause:
    """Report a list of more than `limit` items."""
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} items", at)


def too_long(at: str, bytes_max: int) -> Cause:
    """Report a string of more than `bytes_max` bytes."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {bytes_max} bytes", at)


def unsupported(at: str, value: object, known: Sequence[str]) -> Cause:
    """Report a value outside an enumeration."""
    names = ", ".join(map(_shown, known))
    message = f"Unsupported value: {_shown(value)}: supported values: {names}"
    return Cause("FieldValueNotSupported", message, at)


def required(at: str, why: str = "") -> Cause:
    """Report a missing value."""
    return Cause("FieldValueRequired", f"Required value{': ' + why if why else ''}", at)


def forbidden(at: str, why: str) -> Cause:
    """Report a field that must not be set here."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", at)

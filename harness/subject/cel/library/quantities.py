"""Kubernetes quantities: exact numbers with a suffix, after resource.Quantity of apimachinery."""

import dataclasses
import fractions
import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from harness.subject.cel.values import INT_MAX, INT_MIN, EvaluationError, no_overload

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([a-zA-Z]*|[eE][+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,9})")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {f"{letter}i": 10 * power for power, letter in enumerate("KMGTPE", 1)}
_EXPONENT_MAX = 64
"""Beyond it every quantity is at its cap, or rounds to one nano."""
_DIGITS_MAX = 18
_NANO = 10**9
_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity; equal if the numbers are equal, however they were written."""

    nanos: int
    scale: int | None = dataclasses.field(compare=False)
    """The decimal exponent of the 64-bit form; None if the number does not fit it."""
    cel_type = "kubernetes.Quantity"

    def whole(self) -> int | None:
        """Return the number as a 64-bit integer; None if it has a fraction or is too large."""
        if self.scale is None or self.scale < 0 or abs(self.nanos) > INT_MAX * _NANO:
            return None
        return self.nanos // _NANO


@functools.lru_cache(4096)
def parse(text: str) -> Quantity:
    """Return the quantity that a text says.

    Raises EvaluationError in upstream's words for a text that is not a quantity.
    """
    match = _NUMBER.fullmatch(text)
    if not match or not (match[2] or match[3]):
        raise EvaluationError(_FORMAT)
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    base, exponent = _suffix(suffix)
    number = fractions.Fraction(int(whole + fraction or "0"), 10 ** len(fraction))
    exact = number * fractions.Fraction(base) ** exponent
    scale = _scale(whole.lstrip("0"), fraction, base, exponent)
    nanos = math.ceil(exact * _NANO)
    if scale is None:
        nanos = min(nanos, INT_MAX * _NANO)
    return Quantity(-nanos if sign == "-" else nanos, scale)


def _suffix(suffix: str) -> tuple[int, int]:
    if suffix in _BINARY:
        return 2, _BINARY[suffix]
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix]
    if match := _EXPONENT.fullmatch(suffix):
        return 10, max(-_EXPONENT_MAX, min(int(match[1]), _EXPONENT_MAX))
    if not re.fullmatch("[eEinumkKMGTP]*[-+]?[0-9]*", suffix):
        raise EvaluationError(_FORMAT)
    raise EvaluationError("unable to parse quantity's suffix")


def _scale(whole: str, fraction: str, base: int, exponent: int) -> int | None:
    """Return the exponent of the 64-bit form, as upstream's quick path decides about it."""
    digits = len(whole) + len(fraction)
    if base == 2:
        left = 15 - digits - int(exponent * 0.3) - 1
        return 0 if left >= 0 and not fraction else None
    scale = exponent - len(fraction)
    return scale if digits <= _DIGITS_MAX and scale >= -9 else None


def plus(left: Quantity, right: Any, sign: int = 1) -> Quantity:
    """Return the sum, or with sign -1 the difference; `right` is a quantity or an integer."""
    if type(right) is int:
        right = Quantity(right * _NANO, 0)
    if type(left) is not Quantity or type(right) is not Quantity:
        raise no_overload()
    nanos = left.nanos + sign * right.nanos
    scales = [scale for scale in (left.scale, right.scale) if scale is not None]
    fits = len(scales) == 2 and INT_MIN * _NANO <= nanos <= INT_MAX * _NANO
    return Quantity(nanos, min(scales) if fits else None)


def as_integer(value: Quantity) -> int:
    """Return a whole number; raises EvaluationError for any other."""
    whole = value.whole()
    if whole is None:
        raise EvaluationError("cannot convert value to integer")
    return whole


def is_quantity(text: str) -> bool:
    try:
        parse(text)
    except EvaluationError:
        return False
    return True


MEMBERS: Mapping[str, Callable[..., Any]] = {
    "sign": lambda value: (value.nanos > 0) - (value.nanos < 0),
    "isInteger": lambda value: value.whole() is not None,
    "asInteger": as_integer,
    "asApproximateFloat": lambda value: value.nanos / _NANO,
    "add": plus,
    "sub": lambda left, right: plus(left, right, -1),
}
"""The functions of a quantity; comparisons are in `functions`."""

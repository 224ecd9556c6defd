"""Quantities of the API, such as `500m`, `8Gi` or `1e3`, as exact numbers.

Used by scenario files and by the judges; the scheduler under test and the API server each have
their own.
"""

import re
from fractions import Fraction

LENGTH_MAX = 64
"""Characters of a quantity; longer text is malformed."""
EXPONENT_MAX = 64
"""Largest exponent, so that no number is huge; the API has less."""
_FORM = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<suffix>n|u|m|k|Ki|Mi?|Gi?|Ti?|Pi?|Ei?)|[eE](?P<exponent>[+-]?[0-9]{1,4}))?"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class QuantityError(ValueError):
    """Text that is not a quantity."""


def amount(text: str) -> Fraction:
    """Return the number that a quantity means.

    Raises QuantityError if it is malformed.
    """
    match = _FORM.fullmatch(text) if len(text) <= LENGTH_MAX else None
    if match is None:
        raise QuantityError(f"expected a quantity such as 4, 500m or 8Gi, got {text!r:.60}")
    return Fraction(match["number"]) * _factor(match["suffix"] or "", match["exponent"], text)


def text(value: Fraction) -> str:
    """Return a number as people write it: `2Gi`, `500m`, or as it is."""
    for suffix, power in reversed(_BINARY.items()):
        if value and value % 2**power == 0:
            return f"{value // 2**power}{suffix}"
    thousandths = value * 1000
    if value.denominator != 1 and thousandths.denominator == 1:
        return f"{thousandths}m"
    return str(value)


def _factor(suffix: str, exponent: str | None, text: str) -> Fraction:
    if suffix in _BINARY:
        return Fraction(2 ** _BINARY[suffix])
    power = int(exponent) if exponent is not None else _DECIMAL[suffix]
    if abs(power) > EXPONENT_MAX:
        raise QuantityError(f"expected a quantity of at most 1e{EXPONENT_MAX}, got {text!r:.60}")
    return Fraction(10) ** power

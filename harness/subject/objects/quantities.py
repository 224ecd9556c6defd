"""Quantities of the API as the scheduler reads them: exact amounts with their text.

After resource.Quantity of apimachinery. The judge and the API server have their own.
"""

import dataclasses
import decimal
import functools
import re
from decimal import Decimal

_BINARY = {f"{letter}i": 2 ** (10 * (index + 1)) for index, letter in enumerate("KMGTPE")}
_DECIMAL = {letter: Decimal(10) ** power for letter, power in (("n", -9), ("u", -6), ("m", -3))} | {
    letter: Decimal(1000) ** index for index, letter in enumerate(("", *"kMGTPE"))
}
_SHAPE = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([eE][+-]?[0-9]{1,3}|[KMGTPE]i|[numkMGTPE]?)"
)


class QuantityError(ValueError):
    """The text is not a quantity."""


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """An amount and its text."""

    amount: Decimal
    text: str
    is_binary: bool = False
    """The suffix is a power of 1024, such as Ki."""

    def integer(self) -> int:
        """Return the amount, rounded up to an integer (away from zero)."""
        return int(self.amount.to_integral_value(rounding=decimal.ROUND_UP))


@functools.lru_cache(4096)
def parse(text: str) -> Quantity:
    """Return the quantity. Raises QuantityError for a text that is none."""
    match = _SHAPE.fullmatch(text)
    if not match:
        raise QuantityError(f"expected a quantity such as 40Gi, got {text!r}")
    number, suffix = Decimal(match[1]), match[2]
    if suffix in _BINARY:
        return Quantity(number * _BINARY[suffix], text, is_binary=True)
    if suffix in _DECIMAL:
        return Quantity(number * _DECIMAL[suffix], text)
    return Quantity(number.scaleb(int(suffix[1:])), text)


def of_integer(amount: int, *, is_binary: bool) -> Quantity:
    base, suffixes = (1024, ["", *_BINARY]) if is_binary else (1000, ["", *"kMGTPE"])
    rest, power = amount, 0
    while rest and rest % base == 0 and power + 1 < len(suffixes):
        rest, power = rest // base, power + 1
    return Quantity(Decimal(amount), f"{rest}{suffixes[power]}", is_binary)


def of_fraction(amount: Decimal) -> Quantity:
    """Return the quantity of an amount that is no integer, with the largest fitting suffix."""
    for suffix in ("m", "u", "n"):
        scaled = amount / _DECIMAL[suffix]
        if scaled == scaled.to_integral_value():
            return Quantity(amount, f"{int(scaled)}{suffix}")
    return Quantity(amount, f"{amount:f}")

"""Quantities as Go's `resource.Quantity` parses, compares and prints them: `40Gi`, `500m`, `1e3`.

A text that is (nearly) canonical is kept; any other is converted to canonical form, which has the
largest suffix that leaves an integer: `1024Mi` becomes `1Gi`, `0.5` becomes `500m`, `1.500` stays.

After k8s.io/apimachinery/pkg/api/resource/quantity.go.
"""

import dataclasses
import decimal
import functools
import re
from decimal import Decimal
from typing import Literal

Format = Literal["BinarySI", "DecimalSI", "DecimalExponent"]
CACHE_SIZE = 4096
CHARACTERS_MAX = 1000
"""Maximum length of a quantity; the time of its arithmetic grows with the square of the digits."""
INT64_MAX = 2**63 - 1
_DIGITS_OF_INT64 = 18
_NANO = -9
_BINARY = {f"{letter}i": 10 * (index + 1) for index, letter in enumerate("KMGTPE")}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0} | {
    letter: 3 * (index + 1) for index, letter in enumerate("kMGTPE")
}
_BINARY_SUFFIXES = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_SHAPE = re.compile(r"([+-]?)(0*)([0-9]*)(\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)")
_EXACT = decimal.Context(prec=200, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class QuantityError(ValueError):
    """The text is not a quantity; the message is Kubernetes'."""


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """A number, its format and its text."""

    amount: Decimal
    format: Format
    text: str
    """The quantity as Kubernetes prints it."""

    def integer(self) -> int:
        """Return the amount, rounded up to an integer (away from zero)."""
        return int(self.amount.to_integral_value(rounding=decimal.ROUND_UP))


@functools.lru_cache(CACHE_SIZE)
def parse(text: str) -> Quantity:
    """Parse a quantity. Raises QuantityError if the text is malformed."""
    parts = _SHAPE.fullmatch(text) if len(text) <= CHARACTERS_MAX else None
    if not text or not parts:
        raise QuantityError(WRONG_FORMAT)
    sign, zeros, whole, point, fraction, suffix = parts.groups(default="")
    if not (whole or point or suffix):
        return Quantity(Decimal(0), "DecimalSI", "0")
    power, written = _interpret(suffix)
    if not (zeros or whole or fraction):
        raise QuantityError("unable to parse numeric part of quantity")
    number = Decimal(f"{sign}{whole or 0}.{fraction or 0}")
    if written == "BinarySI":
        return _binary(text, number, power, plain=not fraction)
    return _decimal(text, number, power, written, (whole or "0") + fraction, len(fraction))


def canonical(value: object) -> str:
    """Return the canonical text of a quantity in JSON, which is a string or a number.

    Raises QuantityError if it is malformed.
    """
    return parse(str(value).strip()).text


def _interpret(suffix: str) -> tuple[int, Format]:
    if suffix in _BINARY:
        return _BINARY[suffix], "BinarySI"
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "DecimalSI"
    if exponent := _EXPONENT.fullmatch(suffix):
        return int(exponent[1]), "DecimalExponent"
    raise QuantityError("unable to parse quantity's suffix")


def _binary(text: str, number: Decimal, power: int, *, plain: bool) -> Quantity:
    amount = _EXACT.multiply(number, Decimal(2**power))
    amount = _at_least_nano(amount)
    if amount > INT64_MAX:
        amount = Decimal(INT64_MAX)
    written: Format = "DecimalSI" if 0 < amount < 1 else "BinarySI"
    if plain and abs(int(number)) & 7 and _is_short(number, power):
        return Quantity(amount, written, text)
    return Quantity(amount, written, _canonical(amount, written))


def _is_short(number: Decimal, power: int) -> bool:
    """Return True if Go keeps the number in 64 bits, according to Go's estimate of its digits."""
    return 15 - len(str(abs(int(number)))) - power * 3 // 10 - 1 >= 0


def _decimal(
    text: str, number: Decimal, power: int, written: Format, digits: str, places: int
) -> Quantity:
    amount = number.scaleb(power, _EXACT)
    scale = power - places
    short = len(digits) <= _DIGITS_OF_INT64 and scale >= _NANO
    if short and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0":
        return Quantity(amount, written, text)
    amount = _at_least_nano(amount)
    return Quantity(amount, written, _canonical(amount, written))


def _at_least_nano(amount: Decimal) -> Decimal:
    if amount.as_tuple().exponent >= _NANO:  # type: ignore[operator]  # never NaN here
        return amount
    return amount.quantize(Decimal(1).scaleb(_NANO), decimal.ROUND_UP, _EXACT)


def _canonical(amount: Decimal, written: Format) -> str:
    if not amount:
        return "0"
    if written == "BinarySI" and abs(amount) >= 1024 and amount == int(amount):
        return _canonical_binary(int(amount))
    sign, digits, exponent = amount.normalize(_EXACT).as_tuple()
    power = int(exponent) // 3 * 3
    number = "".join(map(str, digits)) + "0" * (int(exponent) - power)
    number = f"-{number}" if sign else number
    if written == "DecimalExponent":
        return f"{number}e{power}" if power else number
    return number + _DECIMAL_SUFFIXES.get(power, f"e{power}")


def _canonical_binary(amount: int) -> str:
    power = 0
    while amount % 1024 == 0:
        amount, power = amount // 1024, power + 10
    return f"{amount}{_BINARY_SUFFIXES.get(power, '')}"

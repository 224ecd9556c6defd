"""Quantities as Go's `resource.Quantity` parses, compares and prints them: `40Gi`, `500m`, `1e3`.

The canonical form has the largest suffix that leaves an integer: `1024Mi` becomes `1Gi`, `0.5`
becomes `500m`. After k8s.io/apimachinery/pkg/api/resource/quantity.go, which keeps some texts that
are nearly canonical, such as `1.500`.
"""

import dataclasses
import decimal
import functools
import re
from decimal import Decimal
from typing import Literal

_Format = Literal["BinarySI", "DecimalSI", "DecimalExponent"]
_CHARACTERS_MAX = 1000
"""Maximum length of a quantity; the time of its arithmetic grows with the square of the digits."""
INT64_MAX = 2**63 - 1
_NANO = -9
_BINARY = {f"{letter}i": 10 * (index + 1) for index, letter in enumerate("KMGTPE")}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0} | {
    letter: 3 * (index + 1) for index, letter in enumerate("kMGTPE")
}
_BINARY_SUFFIXES = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_SHAPE = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([KMGTPE]i|[numkMGTPE]?|[eE][-+]?[0-9]+)")
_EXACT = decimal.Context(prec=200, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_WRONG_FORMAT = "quantities must be a number with a suffix such as m, k, Mi, or an exponent"


class QuantityError(ValueError):
    """The text is not a quantity."""


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its text."""

    amount: Decimal
    text: str
    """The quantity as Kubernetes prints it."""

    def integer(self) -> int:
        """Return the amount, rounded up to an integer (away from zero)."""
        return int(self.amount.to_integral_value(rounding=decimal.ROUND_UP))


@functools.lru_cache(4096)
def parse(text: str) -> Quantity:
    """Parse a quantity. Raises QuantityError if the text is malformed."""
    parts = _SHAPE.fullmatch(text) if len(text) <= _CHARACTERS_MAX else None
    if parts is None:
        raise QuantityError(_WRONG_FORMAT)
    number, suffix = Decimal(parts[1]), parts[2]
    if suffix in _BINARY:
        scaled = _at_least_nano(_EXACT.multiply(number, Decimal(2 ** _BINARY[suffix])))
        amount = min(scaled, Decimal(INT64_MAX))
        written: _Format = "DecimalSI" if 0 < amount < 1 else "BinarySI"
        return Quantity(amount, _canonical(amount, written))
    written = "DecimalSI" if suffix in _DECIMAL else "DecimalExponent"
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    amount = _at_least_nano(number.scaleb(power, _EXACT))
    return Quantity(amount, _canonical(amount, written))


def canonical(value: object) -> str:
    """Return the canonical text of a quantity in JSON, which is a string or a number.

    Raises QuantityError if it is malformed.
    """
    return parse(str(value).strip()).text


def _at_least_nano(amount: Decimal) -> Decimal:
    if amount.as_tuple().exponent >= _NANO:  # type: ignore[operator]  # never NaN here
        return amount
    return amount.quantize(Decimal(1).scaleb(_NANO), decimal.ROUND_UP, _EXACT)


def _canonical(amount: Decimal, written: _Format) -> str:
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
    while amount % 1024 == 0 and power < 60:
        amount, power = amount // 1024, power + 10
    return f"{amount}{_BINARY_SUFFIXES[power]}"

"""Values of YAML as kubectl reads them: what JSON has, and no more.

A date stays text, and so does a number in sixties (1:59). `yes`, `no`, `on` and `off` are true and
false, as in kubectl, and a number that begins with 0 is octal.
"""

import functools
import re

NUMBER_CHARACTERS_MAX = 40
Scalar = str | int | float | bool | None
_NULL = ("", "~", "null", "Null", "NULL")
_BOOLS = {
    form: value
    for word, value in (("true", True), ("yes", True), ("on", True))
    for form in (word, word.capitalize(), word.upper())
} | {
    form: value
    for word, value in (("false", False), ("no", False), ("off", False))
    for form in (word, word.capitalize(), word.upper())
}
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]{1,3})?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@functools.lru_cache(maxsize=4096)
def plain(text: str) -> Scalar:
    """Return what a scalar without quotes means. Raises ValueError if JSON has no such value."""
    if text in _NULL:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if text[0] not in "-+.0123456789":
        return text
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _decimal(text)
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(f"expected a number that JSON has, got {text}")
    return text


def _integer(text: str) -> int:
    _require_short(text)
    digits, sign = text.lstrip("+-").replace("_", ""), -1 if text[0] == "-" else 1
    if digits[:2] in ("0b", "0x", "0o"):
        return sign * int(digits, 0)
    return sign * int(digits or "0", 8 if digits[:1] == "0" and len(digits) > 1 else 10)


def _decimal(text: str) -> int | float:
    """Return a number; one without a fraction is whole, as in the JSON that kubectl sends."""
    _require_short(text)
    value = float(text.replace("_", ""))
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _require_short(text: str) -> None:
    if len(text) > NUMBER_CHARACTERS_MAX:
        raise ValueError(f"expected a number of at most {NUMBER_CHARACTERS_MAX} characters")

"""CEL selectors over `device`: its driver, and its attributes and capacity by domain.

After k8s.io/dynamic-resource-allocation/cel/compile.go; evaluated by Google's C++ implementation.
Its Python binding has no opaque types, so that quantities are integers in thousandths: they compare
exactly up to about 9 Pi.
"""

import decimal
import functools
import re
from collections.abc import Mapping
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional

from harness import errors

EXPRESSION_CHARACTERS_MAX = 10 * 1024
"""Maximum length of an expression, in characters; the API's own limit."""
CACHE_SIZE = 256
"""Number of compiled selectors to keep."""
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)(|[KMGTPE]i|[kMGTPEmun])"
)
_DOMAIN = re.compile(r"""\[\s*["']([^"']+)["']\s*\]""")
_BINARY = {f"{letter}i": 1024 ** (i + 1) for i, letter in enumerate("KMGTPE")}
_DECIMAL = {letter: decimal.Decimal(1000) ** (i + 1) for i, letter in enumerate("kMGTPE")}
_SMALL = {letter: decimal.Decimal(1000) ** -(i + 1) for i, letter in enumerate("mun")}
_SCALES = {"": decimal.Decimal(1), **_BINARY, **_DECIMAL, **_SMALL}


class SelectorError(errors.HarnessError):
    """A selector that does not compile, or fails on a device."""


def quantity(text: object) -> int:
    """Return a Kubernetes quantity in thousandths.

    Raises SelectorError for a text that is not a quantity.
    """
    match = _QUANTITY.fullmatch(str(text).strip())
    if not match:
        raise SelectorError(f"expected a quantity such as 40Gi, got {text!r}")
    return int(decimal.Decimal(match[1]) * _SCALES[match[2]] * 1000)


class Selector:
    """A compiled CEL selector."""

    def __init__(self, text: str) -> None:
        """Compile an expression; raises SelectorError if it is too long or does not compile."""
        if len(text) > EXPRESSION_CHARACTERS_MAX:
            raise SelectorError(
                f"expected a CEL selector of at most {EXPRESSION_CHARACTERS_MAX} characters, got {len(text)}"
            )
        self.text = text
        self._domains = set(_DOMAIN.findall(text))
        try:
            self._program = _environment().compile(text)
        except Exception as error:  # the binding raises bare exceptions of several kinds
            raise SelectorError(f"CEL selector {text!r} does not compile: {error}") from error

    def matches(self, driver: str, device: Mapping[str, Any]) -> bool:
        """Return whether a device of a ResourceSlice satisfies the selector.

        `device` is an entry of `spec.devices`. Raises SelectorError if the evaluation fails or
        yields anything but a bool.
        """
        answer = self._program.eval(data={"device": self._variables(driver, device)})
        if answer.type() == cel.Type.ERROR:
            raise SelectorError(f"CEL selector {self.text!r}: {answer.value()}")
        if not isinstance(answer.value(), bool):
            raise SelectorError(f"CEL selector {self.text!r}: not a bool: {answer.value()!r}")
        return bool(answer.value())

    def _variables(self, driver: str, device: Mapping[str, Any]) -> dict[str, Any]:
        attributes = self._empty_domains(driver)
        for name, value in (device.get("attributes") or {}).items():
            _put(attributes, driver, name, next(iter(value.values())))
        capacity = self._empty_domains(driver)
        for name, value in (device.get("capacity") or {}).items():
            _put(capacity, driver, name, quantity(value["value"]))
        return {"driver": driver, "attributes": attributes, "capacity": capacity}

    def _empty_domains(self, driver: str) -> dict[str, dict[str, Any]]:
        """Return an empty map for the driver and for each domain that the expression names.

        DRA's maps yield an empty map for an unknown domain; plain CEL maps would raise an error.
        """
        return {domain: {} for domain in (*self._domains, driver)}


@functools.lru_cache(CACHE_SIZE)
def compiled(text: str) -> Selector:
    """Return the compiled selector, cached by its text.

    Raises SelectorError if it does not compile.
    """
    return Selector(text)


def _put(domains: dict[str, dict[str, Any]], driver: str, name: str, value: Any) -> None:
    domain, _, identifier = name.rpartition("/")
    domains.setdefault(domain or driver, {})[identifier] = value


@functools.cache
def _environment() -> Any:
    return cel.NewEnv(
        variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        extensions=[
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            cel.CelExtension("quantities", _quantity_functions()),
        ],
    )


def _quantity_functions() -> list[Any]:
    integer, text = cel.Type.INT, cel.Type.STRING
    parse = cel.Overload("quantity_string", integer, [text], False, quantity)  # noqa: FBT003
    return [
        cel.FunctionDecl("quantity", [parse]),
        _comparison("compareTo", integer, lambda a, b: (a > b) - (a < b)),
        _comparison("isGreaterThan", cel.Type.BOOL, lambda a, b: a > b),
        _comparison("isLessThan", cel.Type.BOOL, lambda a, b: a < b),
    ]


def _comparison(name: str, answer: Any, function: Any) -> Any:
    operands = [cel.Type.INT, cel.Type.INT]
    return cel.FunctionDecl(
        name,
        [cel.Overload(f"{name}_quantity", answer, operands, True, function)],  # noqa: FBT003
    )

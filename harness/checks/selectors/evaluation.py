"""Asks devices whether they match a selector; each expression is compiled once."""

import functools
import re
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from harness.checks.observed import observed_slices
from harness.checks.selectors import device_values, kubernetes_functions, semantic_versions
from harness.model import quantities

_UNREADABLE = (
    device_values.UnknownValueError,
    semantic_versions.VersionError,
    quantities.QuantityError,
)
_LITERAL = re.compile(r"""["']([\w.-]+)["']""")
_SELECTED = re.compile(r"\bdevice\s*\.\s*(?:attributes|capacity)\s*\.\s*(\w+)")
_ASKS_FOR_DOMAIN = re.compile(r"\bin\s+device\s*\.\s*(attributes|capacity)\b")
_NO_KEY = re.compile(r'Key not found in map : "?([^"]*)')
_MISSING_KEY = "NOT_FOUND"
"""How the binding's message begins if a map has no such key."""


class Selector:
    """A CEL expression."""

    def __init__(self, expression: str) -> None:
        """Compile it, unless it uses what this judge does not know."""
        self._domains = _domains(expression)
        self._program: Any = None
        """None: the expression cannot be judged."""
        try:
            self._program = _environment().compile(expression)
        except RuntimeError:  # the API server accepted it: it has a function that is not known here
            return

    def matches(self, driver: str, device: observed_slices.Device) -> bool | None:
        """Return whether a device matches; None: that cannot be judged.

        As the scheduler does not allocate a device without an attribute that the expression needs,
        such a device does not match.
        """
        result = self._evaluated(driver, device)
        if result is None:
            return None
        if result.type() == cel.Type.BOOL:
            return bool(result.value())
        is_missing = result.type() == cel.Type.ERROR and _MISSING_KEY in str(result.value())
        return False if is_missing else None

    def failure(self, driver: str, device: observed_slices.Device) -> str:
        """Return the error with which the expression fails on a device, in Kubernetes' words.

        Empty if it does not fail, or if that cannot be judged.
        """
        result = self._evaluated(driver, device)
        if result is None or result.type() != cel.Type.ERROR:
            return ""
        error = str(result.value())
        missing = _NO_KEY.search(error)
        return f"no such key: {missing[1]}" if missing else error.partition(": ")[2] or error

    def _evaluated(self, driver: str, device: observed_slices.Device) -> Any:
        """Return the result for a device; None: there is none."""
        if self._program is None:
            return None
        try:
            fields = device_values.value_of(driver, device)
        except _UNREADABLE:
            return None
        known = device_values.with_domains(fields, self._domains)
        return self._program.eval(data={"device": known})


@functools.lru_cache(4096)
def selector(expression: str) -> Selector:
    """Return a selector, which is compiled once."""
    return Selector(expression)


def _domains(expression: str) -> frozenset[str]:
    """Return the texts and names in an expression that may be names of domains.

    Empty if it asks whether a domain is there: a missing one must then be missing.
    """
    if _ASKS_FOR_DOMAIN.search(expression):
        return frozenset()
    return frozenset(_LITERAL.findall(expression) + _SELECTED.findall(expression))


@functools.cache
def _environment() -> Any:
    return cel.NewEnv(
        variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        functions=kubernetes_functions.declarations(),
        extensions=[
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_strings.ExtStrings(),
        ],
    )

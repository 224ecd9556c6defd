"""CEL selectors over `device`: its driver, attributes, capacity and allowMultipleAllocations.

After k8s.io/dynamic-resource-allocation/cel; what CEL means here is in the package `cel`. Compiled
expressions are cached by their text, results by expression and device: a device's document in a
ResourceSlice never changes, a change makes another document.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from harness import errors
from harness.cel import checking
from harness.subject.cel import programs

EXPRESSION_CHARACTERS_MAX = 10 * 1024
"""Maximum length of an expression, in characters; the API's own limit."""
CACHE_SIZE = 256
"""Number of compiled selectors to keep, and of results of a device."""
DEVICES_MAX = 100_000
"""Number of devices whose results are kept."""


class SelectorError(errors.HarnessError):
    """A selector that does not compile, or fails on a device."""


class Selector:
    """A compiled CEL selector; several threads may evaluate it at once."""

    def __init__(self, text: str) -> None:
        """Compile an expression; raises SelectorError if it is too long or does not compile."""
        if len(text) > EXPRESSION_CHARACTERS_MAX:
            raise SelectorError(
                f"expected a CEL selector of at most {EXPRESSION_CHARACTERS_MAX} characters, got {len(text)}"
            )
        self.text = text
        try:
            self._program = programs.Program(text)
        except checking.CompileError as error:
            raise SelectorError(f"CEL selector {text!r} does not compile: {error}") from None

    def matches(self, driver: str, device: Mapping[str, Any]) -> bool:
        """Return whether a device of a ResourceSlice satisfies the selector.

        `device` is an entry of `spec.devices`. Raises SelectorError if the evaluation fails, or
        yields anything but a bool.
        """
        return self.evaluate(_converted(self.text, driver, device))

    def evaluate(self, device: Mapping[str, Any]) -> bool:
        """Return whether a device, as `programs.fields` returns it, satisfies the selector."""
        try:
            return self._program.evaluate(device)
        except programs.EvaluationError as error:
            raise SelectorError(f"CEL selector {self.text!r}: {error}") from None


@functools.lru_cache(CACHE_SIZE)
def compiled(text: str) -> Selector:
    """Return the compiled selector, cached by its text.

    Raises SelectorError if it does not compile.
    """
    return Selector(text)


@dataclasses.dataclass(slots=True)
class _Known:
    """A device and the results known for it."""

    document: Mapping[str, Any]
    device: Mapping[str, Any] | None = None
    results: dict[str, bool | SelectorError] = dataclasses.field(default_factory=dict)


class Results:
    """The results of selectors, by expression and device.

    Threads may share it: at worst two of them compute the same result.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], _Known] = {}

    def matches(self, text: str, driver: str, pool: str, document: Mapping[str, Any]) -> bool:
        """Return whether a device satisfies a selector; raises SelectorError as `Selector` does.

        `document` is the device in its ResourceSlice. Another document under the same name, which
        is a new generation of the pool or an updated slice, is evaluated again.
        """
        key = driver, pool, document["name"]
        known = self._known.get(key)
        if known is None or known.document is not document:
            known = self._remember(key, document)
        result = known.results.get(text)
        if result is None:
            if len(known.results) >= CACHE_SIZE:
                known.results.clear()
            result = known.results[text] = _result(text, driver, known)
        if isinstance(result, SelectorError):
            raise SelectorError(str(result))
        return result

    def _remember(self, key: tuple[str, str, str], document: Mapping[str, Any]) -> _Known:
        if len(self._known) >= DEVICES_MAX:
            self._known = {}
        known = self._known[key] = _Known(document)
        return known


def _result(text: str, driver: str, known: _Known) -> bool | SelectorError:
    try:
        selector = compiled(text)
        if known.device is None:
            known.device = _converted(text, driver, known.document)
        return selector.evaluate(known.device)
    except SelectorError as error:
        return error


def _converted(text: str, driver: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return programs.fields(driver, document)
    except programs.EvaluationError as error:
        raise SelectorError(f"CEL selector {text!r}: {error}") from None

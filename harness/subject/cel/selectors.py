"""CEL selectors over `device`: its driver, attributes, capacity and allowMultipleAllocations.

After k8s.io/dynamic-resource-allocation/cel.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from harness import errors
from harness.cel import checking, rewriting
from harness.cel.syntax_trees import Node
from harness.subject.cel import functions, semvers

_SCALARS: Mapping[str, Callable[[Any], Any]] = {
    "int": int,
    "bool": bool,
    "string": str,
    "version": functions.version,
}
_NAMED = ("attributes", "capacity")
"""Fields of `device` that are maps by domain and identifier."""
_NO_KEY = re.compile(r'Key not found in map : "?([^"]*)')


EXPRESSION_CHARACTERS_MAX = 10 * 1024
"""Maximum length of an expression, in characters; the API's own limit."""
CACHE_SIZE = 256
"""Number of compiled selectors to keep, and of results of a device."""


class SelectorError(errors.HarnessError):
    """A selector that does not compile, or fails on a device."""


class _FailedError(Exception):
    """A selector that fails on a device, in upstream's words where the library's differ."""


class Selector:
    """A compiled CEL selector; several threads may evaluate it at once."""

    def __init__(self, text: str) -> None:
        """Compile it. Raises SelectorError, also for functions that are not known here."""
        if len(text) > EXPRESSION_CHARACTERS_MAX:
            raise SelectorError(
                f"expected a CEL selector of at most {EXPRESSION_CHARACTERS_MAX} characters, got {len(text)}"
            )
        self.text = text
        try:
            root = checking.checked(text, with_lists=True)
            self._compiled = _environment().compile(rewriting.rewritten(text))
        except checking.CompileError as error:
            raise SelectorError(f"CEL selector {text!r} does not compile: {error}") from None
        except RuntimeError as error:
            raise SelectorError(
                f"CEL selector {text!r} does not compile: this scheduler cannot evaluate it: {error}"
            ) from None
        # An expression that asks which domains there are must not find a missing one.
        asks = any(_walks_domains(node) for node in root.walk())
        self._domains = None if asks else _domains(root)

    def matches(self, driver: str, device: Mapping[str, Any]) -> bool:
        """Return whether an entry of `spec.devices` satisfies it. Raises SelectorError."""
        return self.evaluate(self.fields(driver, device))

    def fields(self, driver: str, device: Mapping[str, Any]) -> dict[str, Any]:
        """Return what any selector is evaluated on. Raises SelectorError."""
        try:
            return {
                "driver": driver,
                "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
                "attributes": _by_domain(driver, device.get("attributes"), _attribute),
                "capacity": _by_domain(driver, device.get("capacity"), _capacity),
            }
        except _FailedError as error:
            raise SelectorError(f"CEL selector {self.text!r}: {error}") from None

    def evaluate(self, device: Mapping[str, Any]) -> bool:
        known = dict(device)
        if self._domains is not None:
            for name in _NAMED:
                known[name] = {device["driver"]: {}, **self._domains, **device[name]}
        result = self._compiled.eval(data={"device": known})
        if result.type() == cel.Type.BOOL:
            return bool(result.value())
        words = _message(str(result.value()))
        if result.type() != cel.Type.ERROR:
            kind = result.type().name().partition("<")[0].lower()
            words = f"CEL result of type {kind} could not be converted to bool"
        raise SelectorError(f"CEL selector {self.text!r}: {words}")


@functools.lru_cache(CACHE_SIZE)
def compiled(text: str) -> Selector:
    """Return the compiled selector. Raises SelectorError if it does not compile."""
    return Selector(text)


def _domains(root: Node) -> dict[str, dict[str, Any]]:
    """Return empty maps for all names that may be domains: upstream finds a missing one empty."""
    nodes = list(root.walk())
    selected = [node.name for node in nodes if node.kind == "select"]
    written = [node.value for node in nodes if node.kind == "constant"]
    return {name: {} for name in (*selected, *written) if isinstance(name, str)}


def _walks_domains(node: Node) -> bool:
    looked_into = node.operands[1:2] if node.kind == "call" and node.name == "@in" else []
    if node.kind == "comprehension":
        looked_into = node.operands[:1]
    return any(item.name.rpartition(".")[2] in _NAMED for item in looked_into)


def _by_domain(
    driver: str, values: Mapping[str, Any] | None, convert: Callable[[str, Any], Any]
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, value in (values or {}).items():
        domain, slash, identifier = name.partition("/")
        key = (domain, identifier) if slash else (driver, name)
        found.setdefault(key[0], {})[key[1]] = convert(name, value)
    return found


def _attribute(name: str, attribute: Mapping[str, Any]) -> Any:
    for kind, value in attribute.items():
        try:
            if convert := _SCALARS.get(kind):
                return convert(value)
            if convert := _SCALARS.get(kind.removesuffix("s")):
                return [convert(item) for item in value]
        except semvers.VersionError as error:
            raise _FailedError(f"attribute {name}: parse semantic version: {error}") from None
        except (TypeError, ValueError):
            break
    raise _FailedError(f"attribute {name}: unsupported attribute value")


def _capacity(name: str, capacity: Mapping[str, Any]) -> Any:
    try:
        return functions.quantity(str(capacity["value"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _FailedError(f"capacity {name}: {error}") from None


def _message(error: str) -> str:
    missing = _NO_KEY.search(error)
    return f"no such key: {missing[1]}" if missing else error.partition(": ")[2] or error


@functools.cache
def _environment() -> Any:
    return cel.NewEnv(
        variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        functions=functions.declarations(),
        extensions=[
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_strings.ExtStrings(),
        ],
    )

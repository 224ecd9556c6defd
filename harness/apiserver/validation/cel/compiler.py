"""Compilation of CEL selectors: type checking against `device`, a bool result, a cost limit.

Google's C++ implementation compiles; nothing is evaluated. Its Python binding has no types with
fields, so the fields of `device` are declared as variables with a dot in their names, and
selections of unknown fields are found in the checked syntax tree.
"""

import dataclasses
import functools
import re
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional

from harness.apiserver.scheme import feature_gates
from harness.apiserver.validation.cel import cost_estimator, library, syntax_tree

CACHE_SIZE = 4096
"""Number of expressions whose results are cached."""
COST_MAX = 1_000_000
"""The largest estimated cost of a valid expression, in CEL cost units."""
_ERROR_CODE = re.compile(r"^INVALID_ARGUMENT: (.*) \[INVALID_ARGUMENT\]$", re.DOTALL)
_TESTED_FIELD = re.compile(r"\bhas\(\s*device\s*\.\s*\w+\s*\)")
_TYPE_NAMES = {
    "NULL": "null_type",
    "DURATION": "google.protobuf.Duration",
    "TIMESTAMP": "google.protobuf.Timestamp",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
    """The result of compiling an expression."""

    problem: str = ""
    """The error message in kube-apiserver's wording; empty if the expression is valid."""
    too_complex: bool = False
    """True if the estimated cost exceeds `COST_MAX`."""


def compiled(text: str) -> Compiled:
    """Compile an expression, or return the cached result."""
    return _compiled(text, with_lists=feature_gates.is_on(feature_gates.LIST_ATTRIBUTES))


@functools.lru_cache(CACHE_SIZE)
def _compiled(text: str, *, with_lists: bool) -> Compiled:
    # With typed fields, the binding parses `has(device.x)` as the variable `device.x`.
    environment = _environment(typed_fields=not _TESTED_FIELD.search(text), with_lists=with_lists)
    try:
        expression = environment.compile(text)
    except RuntimeError as error:
        return Compiled(f"compilation failed: {_message(text, str(error))}")
    tree = syntax_tree.read(expression.serialize())
    if field := syntax_tree.unknown_field(tree, library.DEVICE_FIELDS):
        return Compiled(f"compilation failed: {_undefined(text, field)}")
    name = _type_name(expression.return_type().name())
    if name not in ("bool", "dyn"):
        return Compiled(f"must evaluate to bool or the unknown type, not {name}")
    return Compiled(too_complex=cost_estimator.max_cost(tree) > COST_MAX)


def _message(text: str, error: str) -> str:
    coded = _ERROR_CODE.match(error)
    message = coded[1] if coded else error
    # Go counts columns from 0 at the end of an empty text.
    return message if text else message.replace("<input>:1:1:", "<input>:1:0:")


def _undefined(text: str, field: syntax_tree.FieldSelection) -> str:
    line = text[: field.offset].count("\n")
    column = field.offset - (text.rfind("\n", 0, field.offset) + 1)
    shown = text.split("\n")[line]
    return (
        f"ERROR: <input>:{line + 1}:{column + 1}: undefined field '{field.name}'\n"
        f" | {shown}\n | {'.' * column}^"
    )


def _type_name(name: str) -> str:
    """Format a type name as Go does: `MAP<STRING, INT>` as `map(string, int)`."""
    words = re.sub(r"[A-Z]+", lambda word: _TYPE_NAMES.get(word[0], word[0].lower()), name)
    return words.replace("<", "(").replace(">", ")") if name.isupper() or "<" in name else name


@functools.cache
def _environment(*, typed_fields: bool, with_lists: bool) -> Any:
    variables = {"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)}
    if typed_fields:
        variables |= {f"device.{name}": kind for name, kind in library.DEVICE_FIELDS.items()}
    return cel.NewEnv(
        variables=variables,
        functions=library.declarations(with_lists=with_lists),
        extensions=[ext_optional.ExtOptional(), ext_bindings.ExtBindings()],
    )

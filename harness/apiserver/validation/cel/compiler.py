"""Compilation of CEL selectors: type checking against `device`, a bool result, a cost limit."""

import dataclasses
import functools

from harness.apiserver.scheme import feature_gates
from harness.apiserver.validation.cel import cost_estimator
from harness.cel import checking

CACHE_SIZE = 4096
"""Number of expressions whose results are cached."""
COST_MAX = 1_000_000
"""The largest estimated cost of a valid expression, in CEL cost units."""


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
    try:
        tree = checking.checked(text, with_lists=with_lists, literals={})
    except checking.CompileError as error:
        return Compiled(str(error))
    return Compiled(too_complex=cost_estimator.max_cost(tree) > COST_MAX)

"""The functions that a program consists of, one for each operation of CEL.

They follow cel-go's interpreter: `&&` and `||` absorb an error if the other side decides, macros
too; a name costs 1, each step of a path 1, constants nothing.
"""

from collections.abc import Callable
from typing import Any

from harness.subject.cel import costs, paths
from harness.subject.cel.library import functions
from harness.subject.cel.paths import Frame, Step, require_affordable
from harness.subject.cel.values import (
    EvaluationError,
    Optional,
    go_type,
    no_overload,
    type_name,
)

_NOT_FOR_THESE = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)
"""Raised by a function for operands of other types, which are known only at run time."""


def _decided(deciding: bool) -> Callable[[Step, Step], Step]:  # noqa: FBT001
    """Return the builder of `||` (decided by true) or `&&` (decided by false)."""

    def build(left: Step, right: Step) -> Step:
        def step(frame: Frame) -> Any:
            failed: EvaluationError | None = None
            for side in (left, right):
                try:
                    value = side(frame)
                except EvaluationError as error:
                    failed = failed or error
                    continue
                if value is deciding:
                    return deciding
                if value is not (not deciding):
                    failed = failed or no_overload()
            if failed:
                raise failed
            return not deciding

        return step

    return build


def _conditional(condition: Step, yes: Step, no: Step) -> Step:
    def step(frame: Frame) -> Any:
        value = condition(frame)
        if value is True:
            return yes(frame)
        if value is False:
            return no(frame)
        raise no_overload()

    return step


def _not_strictly_false(operand: Step) -> Step:
    def step(frame: Frame) -> Any:
        frame.cost += 1
        try:
            return operand(frame) is not False
        except EvaluationError:
            return True

    return step


def _required(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise no_overload()
    return value


def _or_value(optional: Step, otherwise: Step) -> Step:
    def step(frame: Frame) -> Any:
        value = _required(optional(frame))
        return value.value if value.is_present else otherwise(frame)

    return step


def _or(optional: Step, otherwise: Step) -> Step:
    def step(frame: Frame) -> Any:
        value = _required(optional(frame))
        return value if value.is_present else otherwise(frame)

    return step


SPECIAL: dict[str, Callable[..., Step]] = {
    "_&&_": _decided(False),  # noqa: FBT003
    "_||_": _decided(True),  # noqa: FBT003
    "_?_:_": _conditional,
    "_[_]": paths.indexed,
    "_?._": paths.optionally_indexed,
    "_[?_]": paths.optionally_indexed,
    "@not_strictly_false": _not_strictly_false,
    "or": _or,
    "orValue": _or_value,
}
"""The operators that do not evaluate all operands, or that are no functions."""


def called(name: str, steps: list[Step]) -> Step:
    """Return a function that calls a function of the library and charges for it."""

    function = functions.FUNCTIONS[name]
    rule = costs.RULES.get(name)

    def fixed(frame: Frame) -> Any:
        frame.cost += 1
        operands = [step(frame) for step in steps]
        try:
            return function(*operands)
        except _NOT_FOR_THESE:
            raise no_overload() from None

    def measured(frame: Frame) -> Any:
        operands = [step(frame) for step in steps]
        try:
            result = function(*operands)
        except _NOT_FOR_THESE:
            raise no_overload() from None
        frame.cost += rule(operands, result) if rule else 1
        require_affordable(frame)
        return result

    return measured if rule else fixed


def listed(steps: list[Step], optional: frozenset[int]) -> Step:
    """Return a function that makes a list."""

    def step(frame: Frame) -> Any:
        frame.cost += costs.LIST
        values: list[Any] = []
        for index, item in enumerate(steps):
            value = item(frame)
            if index not in optional:
                values.append(value)
            elif value.is_present:
                values.append(value.value)
        return values

    return step


def mapped(entries: list[tuple[Step, Step]], optional: frozenset[int]) -> Step:
    """Return a function that makes a map."""

    def step(frame: Frame) -> Any:
        frame.cost += costs.MAP
        values: dict[Any, Any] = {}
        for index, (key_step, value_step) in enumerate(entries):
            key, value = key_step(frame), value_step(frame)
            if isinstance(key, (list, dict)):
                raise EvaluationError(f"unsupported key type: {type_name(key)}")
            if index not in optional:
                values[key] = value
            elif value.is_present:
                values[key] = value.value
        return values

    return step


def bound(place: int, start: Step, result: Step) -> Step:
    """Return `cel.bind` and its like: a macro over an empty list, which sets one variable."""

    def step(frame: Frame) -> Any:
        frame.variables[place] = start(frame)
        return result(frame)

    return step


def folded(
    accumulator: int, variable: int, range_: Step, start: Step, parts: tuple[Step, Step, Step]
) -> Step:
    """Return a macro over a list or map: range, start, then condition and step for each element."""

    condition, advance, result = parts

    def step(frame: Frame) -> Any:
        items = range_(frame)
        if not isinstance(items, (list, dict)):
            raise EvaluationError(f"got '{go_type(items)}', expected iterable type")
        places = frame.variables
        places[accumulator] = start(frame)
        for item in items:
            places[variable] = item
            if not condition(frame):
                break
            try:
                places[accumulator] = advance(frame)
            except EvaluationError as error:
                places[accumulator] = error
            require_affordable(frame)
        return result(frame)

    return step

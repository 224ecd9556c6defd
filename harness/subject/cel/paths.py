"""The state of one evaluation, and the functions that read from it: variables, fields, elements."""

from collections.abc import Callable
from typing import Any

from harness.cel.syntax_trees import Node
from harness.subject.cel import costs
from harness.subject.cel.devices import Device, Domains
from harness.subject.cel.library import functions
from harness.subject.cel.values import CostLimitError, EvaluationError, Optional, no_overload, some


class Frame:
    """The state of one evaluation."""

    __slots__ = ("cost", "device", "variables")

    def __init__(self, device: Device, variables: int) -> None:
        self.device, self.cost = device, 0
        self.variables: list[Any] = [None] * variables


Step = Callable[[Frame], Any]
"""Evaluates a part of an expression."""


def require_affordable(frame: Frame) -> None:
    """Raise CostLimitError if the evaluation has cost too much."""

    if frame.cost > costs.LIMIT:
        raise CostLimitError("operation cancelled: actual cost limit exceeded")


def constant(value: Any) -> Step:
    """Return a function that returns a constant."""

    return lambda _frame: value


def variable(place: int, may_fail: bool) -> Step:  # noqa: FBT001
    """Return a function that reads a macro's variable; with `may_fail` its error is raised."""

    def step(frame: Frame) -> Any:
        frame.cost += 1
        value = frame.variables[place]
        if may_fail and isinstance(value, EvaluationError):
            raise value
        return value

    return step


def _driver(frame: Frame) -> Any:
    frame.cost += 2
    return frame.device.driver


def _attributes(frame: Frame) -> Any:
    frame.cost += 2
    return frame.device.attributes


def _capacity(frame: Frame) -> Any:
    frame.cost += 2
    return frame.device.capacity


def _allow_multiple_allocations(frame: Frame) -> Any:
    frame.cost += 2
    return frame.device.allow_multiple_allocations


def _whole_device(frame: Frame) -> Any:
    frame.cost += 1
    return frame.device.as_map()


FIELD_STEPS: dict[str, Step] = {
    "device": _whole_device,
    "device.driver": _driver,
    "device.attributes": _attributes,
    "device.capacity": _capacity,
    "device.allowMultipleAllocations": _allow_multiple_allocations,
}


def path(operand: Node, identifier: str) -> Step | None:
    """Return one function for `device.attributes["domain"].identifier`, None for any other path."""
    if operand.kind != "call" or operand.name != "_[_]":
        return None
    field, domain = operand.operands
    if field.kind != "identifier" or domain.kind != "constant":
        return None
    if field.name == "device.attributes":
        return _attribute(domain.value, identifier)
    return _amount(domain.value, identifier) if field.name == "device.capacity" else None


def _attribute(domain: str, identifier: str) -> Step:
    def step(frame: Frame) -> Any:
        frame.cost += 4
        try:
            return frame.device.attributes[domain][identifier]
        except KeyError:
            raise EvaluationError(f"no such key: {identifier}") from None

    return step


def _amount(domain: str, identifier: str) -> Step:
    def step(frame: Frame) -> Any:
        frame.cost += 4
        try:
            return frame.device.capacity[domain][identifier]
        except KeyError:
            raise EvaluationError(f"no such key: {identifier}") from None

    return step


def selected(operand: Step, name: str) -> Step:
    """Return a function that reads a field of a map."""

    def step(frame: Frame) -> Any:
        value = operand(frame)
        frame.cost += 1
        if isinstance(value, Optional):
            return _optional_of(value, name)
        if not isinstance(value, dict):
            raise no_overload()
        return functions.index(value, name)

    return step


def tested(operand: Step, name: str) -> Step:
    """Return a function that says whether a map has a field: `has(map.field)`."""

    def step(frame: Frame) -> Any:
        value = operand(frame)
        if isinstance(value, Optional):
            value = value.value if value.is_present else {}
        if not isinstance(value, dict):
            raise no_overload()
        # Upstream's wrapper of the map finds a missing domain, too; `in` does not use it.
        return name in value or isinstance(value, Domains)

    return step


def _optional_of(value: Optional, key: Any) -> Optional:
    return functions.optional_index(value, key)


def indexed(operand: Step, key: Step) -> Step:
    def step(frame: Frame) -> Any:
        value, at = operand(frame), key(frame)
        frame.cost += 1
        if isinstance(value, Optional):
            return _optional_of(value, at)
        return functions.index(value, at)

    return step


def optionally_indexed(operand: Step, key: Step) -> Step:
    def step(frame: Frame) -> Any:
        value, at = operand(frame), key(frame)
        frame.cost += 1
        return _optional_of(value if isinstance(value, Optional) else some(value), at)

    return step

"""The operators of a node selector's requirements (v1.NodeSelectorRequirement)."""

from collections.abc import Mapping
from typing import Any


def is_met(requirement: Mapping[str, Any], value: str | None) -> bool | None:
    """Return whether a label or field with this value meets a requirement, as JSON.

    `value` None: the node has no such label. The result is None for an unknown operator.
    """
    values = requirement.get("values") or []
    match requirement.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _is_ordered(value, values, operator)
    return None


def _is_ordered(value: str | None, values: list[str], operator: str) -> bool:
    try:
        number, bound = int(value or ""), int(values[0])
    except (ValueError, IndexError, TypeError):
        return False
    return number > bound if operator == "Gt" else number < bound

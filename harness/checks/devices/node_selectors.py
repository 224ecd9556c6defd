"""Which nodes a NodeSelector admits, and on which nodes a device can be reached.

Not the scheduler's reading of v1.NodeSelector: its terms are ORed, and the requirements of a term
are ANDed; a term without requirements admits no node.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from harness.model import node_requirements

NAME_FIELD = "metadata.name"
Labels = Mapping[str, str]


class UnknownSelectorError(ValueError):
    """A selector of another form, or with an operator or a field that this judge does not know."""


class _Requirement(msgspec.Struct):
    key: str
    operator: str
    values: list[str] | None = None


class _Term(msgspec.Struct, rename="camel"):
    match_fields: list[_Requirement] | None = None
    match_expressions: list[_Requirement] | None = None


class _Selector(msgspec.Struct, rename="camel"):
    node_selector_terms: list[_Term] | None = None


def _is_selector(value: Any) -> bool:
    try:
        msgspec.convert(value, _Selector)
    except msgspec.ValidationError:
        return False
    return True


def admits(selector: Any, name: str, labels: Labels) -> bool:
    """Return whether a selector, as JSON, admits a node; None admits every node.

    Raises UnknownSelectorError for an unknown operator or field.
    """
    if selector is None:
        return True
    if not _is_selector(selector):
        raise UnknownSelectorError("expected a node selector, got something else")
    return any(_term(term, name, labels) for term in selector.get("nodeSelectorTerms") or ())


def only_names(selector: Any) -> frozenset[str] | None:
    """Return the only names that the admitted nodes can have; None: their labels decide."""
    if selector is not None and not _is_selector(selector):
        return None
    names: set[str] = set()
    terms: list[Mapping[str, Any]] = (selector or {}).get("nodeSelectorTerms") or [{}]
    for term in terms:
        listed = [
            item.get("values") or ()
            for item in term.get("matchFields") or ()
            if item.get("key") == NAME_FIELD and item.get("operator") == "In"
        ]
        if not listed:
            return None
        names.update(listed[0])
    return frozenset(names)


def _term(term: Mapping[str, Any], name: str, labels: Labels) -> bool:
    fields = term.get("matchFields") or ()
    if any(item.get("key") != NAME_FIELD for item in fields):
        raise UnknownSelectorError(f"expected the field {NAME_FIELD}, got {fields}")
    requirements: list[tuple[Any, str | None]] = [(item, name) for item in fields]
    requirements += [(item, labels.get(item["key"])) for item in term.get("matchExpressions") or ()]
    return bool(requirements) and all(_meets(item, value) for item, value in requirements)


def _meets(requirement: Mapping[str, Any], value: str | None) -> bool:
    is_met = node_requirements.is_met(requirement, value)
    if is_met is None:
        operator = requirement.get("operator")
        raise UnknownSelectorError(f"expected an operator of node selectors, got {operator!r}")
    return is_met

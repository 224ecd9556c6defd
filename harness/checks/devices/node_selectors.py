"""Which nodes a NodeSelector admits, and on which nodes a device can be reached.

Not the scheduler's reading of v1.NodeSelector: its terms are ORed, and the requirements of a term
are ANDed; a term without requirements admits no node.
"""

from collections.abc import Mapping, Sequence
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


def _terms(selector: Any) -> Sequence[Mapping[str, Any]]:
    """Return the terms of a selector, as JSON. Raises UnknownSelectorError if it is none."""
    try:
        msgspec.convert(selector, _Selector)
    except msgspec.ValidationError as error:
        raise UnknownSelectorError("expected a node selector, got something else") from error
    return selector.get("nodeSelectorTerms") or ()


def admits(selector: Any, name: str, labels: Labels) -> bool:
    """Return whether a selector, as JSON, admits a node; None admits every node.

    Raises UnknownSelectorError for an unknown operator or field.
    """
    return selector is None or any(_admits(term, name, labels) for term in _terms(selector))


def only_names(selector: Any) -> frozenset[str] | None:
    """Return the only names that the admitted nodes can have; None: their labels decide."""
    names: set[str] = set()
    try:
        terms = _terms(selector or {}) or [{}]
    except UnknownSelectorError:
        return None
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


def _admits(term: Mapping[str, Any], name: str, labels: Labels) -> bool:
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

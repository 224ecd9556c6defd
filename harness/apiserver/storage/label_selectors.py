"""Label selectors. After k8s.io/apimachinery/pkg/labels/selector.go."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.apiserver.errors import status_errors
from harness.apiserver.validation import formats

Labels = Mapping[str, str]
LabelSelector = Callable[[Labels], bool]
_WORD = r"[^\s=!(),<>]"
_REQUIREMENT = re.compile(
    rf"""\s*(?:
        !\s*(?P<absent>{_WORD}+)
      | (?P<key>{_WORD}+)(?:
            \s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)
          | \s*(?P<how>==?|!=|<|>)\s*(?P<value>{_WORD}*)
        )?
    )\s*(?:,\s*(?=\S)|$)""",
    re.VERBOSE,
)
_INTEGER = re.compile(r"[-+]?\d+")


def label_selector(text: str) -> LabelSelector:
    """Return a predicate over labels; raises StatusError 400 for bad syntax."""
    try:
        terms = [_term(found) for found in _requirements(text)]
    except ValueError as error:
        raise status_errors.bad_request(f"not a label selector: {text!r}: {error}") from error
    if len(terms) == 1:
        return terms[0]
    return lambda labels: all(term(labels) for term in terms)


def _requirements(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text.rstrip()):
        found = _REQUIREMENT.match(text, at)
        if found is None:
            raise ValueError(f"expected a requirement at {text[at:]!r}")
        yield found
        at = found.end()


def _term(found: re.Match[str]) -> LabelSelector:
    key = found["absent"] or found["key"]
    _require(formats.qualified_name(key))
    values = {found["value"] or ""}
    if found["values"] is not None:
        values = {value.strip() for value in found["values"].split(",")}
    for value in values:
        _require(formats.label_value(value))
    match found["set"] or found["how"]:
        case "in" | "=" | "==":
            return lambda labels: labels.get(key) in values
        case "notin" | "!=":
            return lambda labels: labels.get(key) not in values
        case "<" | ">" as how:
            return _order_term(key, how, values.pop())
    is_wanted = found["absent"] is None
    return lambda labels: (key in labels) is is_wanted


def _order_term(key: str, how: str, text: str) -> LabelSelector:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"expected an integer to compare with, got {text!r}")
    bound = int(text)

    def matches(labels: Labels) -> bool:
        value = labels.get(key, "")
        if not _INTEGER.fullmatch(value):
            return False
        return int(value) > bound if how == ">" else int(value) < bound

    return matches


def _require(problems: Sequence[str]) -> None:
    if problems:
        raise ValueError("; ".join(problems))

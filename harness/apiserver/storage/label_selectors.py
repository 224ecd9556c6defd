"""Label selectors, with the grammar and the error messages of Kubernetes.

After k8s.io/apimachinery/pkg/labels/selector.go.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.apiserver.errors import status_errors
from harness.apiserver.validation import formats

Labels = Mapping[str, str]
LabelSelector = Callable[[Labels], bool]

_TOKEN = re.compile(r"\s*(?P<special>==|!=|[=!(),<>])|\s*(?P<word>[^\s=!(),<>]+)")
_OPERATORS = ("in", "notin", "=", "==", "!=", ">", "<")
_OPERATOR_NAMES = "in, notin, =, ==, !=, gt, lt"
_Token = tuple[str, bool]
"""(text, whether it is a word); a plain tuple because a selector may have tens of thousands."""
_END: _Token = ("", False)
_COMMA: _Token = (",", False)
_NOT: _Token = ("!", False)


def label_selector(text: str) -> LabelSelector:
    """Return a predicate over labels; raises StatusError 400 for bad syntax."""
    try:
        terms = list(_Parser(text).requirements())
    except ValueError as error:
        raise status_errors.bad_request(str(error)) from error
    if len(terms) == 1:
        return terms[0]
    return lambda labels: all(term(labels) for term in terms)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = [
            (special, False) if special else (word, True) for special, word in _TOKEN.findall(text)
        ]
        self._tokens.append(_END)
        self._at = 0

    def requirements(self) -> Iterator[LabelSelector]:
        """Yield a predicate for each requirement; raises ValueError for bad syntax."""
        while (token := self._peek()) != _END:
            text, is_word = token
            if not is_word and token != _NOT:
                raise ValueError(f"found '{text}', expected: !, identifier, or 'end of string'")
            try:
                term = self._requirement()
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from error
            yield term
            self._separator()

    def _separator(self) -> None:
        token = self._take()
        if token == _END:
            return
        if token != _COMMA:
            raise ValueError(f"found '{token[0]}', expected: ',' or 'end of string'")
        follows, is_word = self._peek()
        if not is_word and follows != "!":
            raise ValueError(f"found '{follows}', expected: identifier after ','")

    def _requirement(self) -> LabelSelector:
        token = self._take()
        if denied := token == _NOT:
            token = self._take()
        key, is_word = token
        if not is_word:
            raise ValueError(f"found '{key}', expected: identifier")
        _require_key(key)
        if denied:
            return lambda labels: key not in labels
        if self._peek() in (_END, _COMMA):
            return lambda labels: key in labels
        return self._comparison(key)

    def _comparison(self, key: str) -> LabelSelector:
        operator, _ = self._take()
        if operator not in _OPERATORS:
            raise ValueError(f"found '{operator}', expected: {_OPERATOR_NAMES}")
        values = self._values() if operator in ("in", "notin") else {self._value()}
        for value in values:
            _require_value(key, value)
        match operator:
            case "in" | "=" | "==":
                return lambda labels: labels.get(key) in values
            case "notin" | "!=":
                return lambda labels: labels.get(key) not in values
        return _order_term(key, operator, values.pop())

    def _value(self) -> str:
        if self._peek() in (_END, _COMMA):
            return ""
        text, is_word = self._take()
        if not is_word:
            raise ValueError(f"found '{text}', expected: identifier")
        return text

    def _values(self) -> set[str]:
        text, _ = self._take()
        if text != "(":
            raise ValueError(f"found '{text}' expected: '('")
        text, is_word = self._peek()
        if text == ")":
            self._take()
            return set()
        if not is_word and text != ",":
            raise ValueError(f"found '{text}', expected: ',', ')' or identifier")
        return set(self._identifiers())

    def _identifiers(self) -> Iterator[str]:
        """Yield the values up to the closing parenthesis; two commas enclose an empty value."""
        while True:
            text, is_word = self._take()
            if is_word:
                yield text
                text, _ = self._take()
            else:
                yield ""
            if text == ")":
                return
            if text != ",":
                raise ValueError(f"found '{text}', expected: ',' or ')'")

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token


def _require_key(key: str) -> None:
    _require("<nil>", key, formats.qualified_name(key))


def _require_value(key: str, value: str) -> None:
    _require(f"values[0][{key}]", value, formats.label_value(value))


def _require(at: str, value: str, problems: Sequence[str]) -> None:
    if problems:
        raise ValueError(f'{at}: Invalid value: "{value}": {"; ".join(problems)}')


def _order_term(key: str, operator: str, text: str) -> LabelSelector:
    if not re.fullmatch(r"[-+]?\d+", text):
        _require("values[0]", text, ["for 'Gt', 'Lt' operators, the value must be an integer"])
    bound = int(text)

    def matches(labels: Labels) -> bool:
        value = labels.get(key, "")
        if not re.fullmatch(r"[-+]?\d+", value):
            return False
        return int(value) > bound if operator == ">" else int(value) < bound

    return matches

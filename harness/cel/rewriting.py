"""Rewrites what Google's parser does not know: macros with two variables, and `has(device.field)`.

`list.all(i, v, p)` becomes a macro with one variable over pairs, so that types are checked as
upstream checks them; in such an expression the columns of messages are those of the new text.
"""

import re

from harness.cel.declarations import FIELDS

_STRING = r"""[rRbB]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_TOKEN = re.compile(rf"{_STRING}|//[^\n]*|\s+|[A-Za-z_]\w*|\d[\w.]*|.", re.DOTALL)
_TESTED_FIELD = re.compile(
    rf"{_STRING}|\b(has\s*\(\s*device\s*\.\s*(?:{'|'.join(FIELDS)})\s*\))", re.DOTALL
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_MACROS = {
    "all": (3, 3),
    "exists": (3, 3),
    "existsOne": (3, 3),
    "exists_one": (3, 3),
    "transformList": (3, 4),
    "transformMap": (3, 4),
    "transformMapEntry": (3, 4),
}
"""The number of arguments of each macro with two variables: the least and the most."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def rewritten(text: str) -> str:
    """Return an expression that Google's parser understands."""
    if "has" in text:
        text = _TESTED_FIELD.sub(_without_test, text)
    if not any(f".{name}" in re.sub(r"\s", "", text) for name in _MACROS):
        return text
    return _expanded(_TOKEN.findall(text))


def _without_test(found: re.Match[str]) -> str:
    """Return `true` for a test of a field that is always there; a string stays as it is."""
    return "true".ljust(len(found[0])) if found[1] else found[0]


def _expanded(tokens: list[str]) -> str:
    """Return the tokens' text, with all macros with two variables replaced."""
    shown: list[str] = []
    at = 0
    while at < len(tokens):
        opening = _macro_at(tokens, at)
        if opening is None:
            shown.append(tokens[at])
            at += 1
            continue
        end = _closing(tokens, opening)
        arguments = _split(tokens[opening + 1 : end])
        shown.append(
            _replaced(tokens[at], arguments) or tokens[at] + _expanded(tokens[at + 1 : end + 1])
        )
        at = end + 1
    return "".join(shown)


def _macro_at(tokens: list[str], at: int) -> int | None:
    """Return the index of the bracket behind a macro's name, None if there is no macro."""
    before = [item for item in tokens[max(0, at - 8) : at] if item.strip()]
    if tokens[at] not in _MACROS or not before or before[-1] != ".":
        return None
    behind = at + 1
    while behind < len(tokens) and tokens[behind].isspace():
        behind += 1
    is_call = behind < len(tokens) and tokens[behind] == "("
    return behind if is_call and _closing(tokens, behind) < len(tokens) else None


def _closing(tokens: list[str], opening: int) -> int:
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at] in _BRACKETS) - (tokens[at] in _BRACKETS.values())
        if depth == 0:
            return at
    return len(tokens)


def _split(tokens: list[str]) -> list[list[str]]:
    arguments: list[list[str]] = [[]]
    depth = 0
    for word in tokens:
        depth += (word in _BRACKETS) - (word in _BRACKETS.values())
        if word == "," and depth == 0:
            arguments.append([])
        else:
            arguments[-1].append(word)
    return arguments


def _replaced(macro: str, arguments: list[list[str]]) -> str | None:
    """Return the macro over pairs; None for a macro with one variable."""
    least, most = _MACROS[macro]
    names = ["".join(argument).strip() for argument in arguments[:2]]
    if not least <= len(arguments) <= most or not all(map(_NAME.fullmatch, names)):
        return None
    bodies = [_expanded(argument) for argument in arguments[2:]]
    bound = [_bound(names, body) for body in bodies]
    if macro == "transformMap":
        bound[-1] = _bound(names, f"__pair(__entry.__first(), {bodies[-1]})")
    tail = {"transformMap": ".__map()", "transformMapEntry": ".__merged()"}.get(macro, "")
    name = "map" if macro.startswith("transform") else macro.replace("existsOne", "exists_one")
    return f"__pairs().{name}(__entry, {', '.join(bound)}){tail}"


def _bound(names: list[str], body: str) -> str:
    """Return the body with both variables set; macros may nest, as it reads the entry first."""
    first, second = names
    return f"cel.bind({first}, __entry.__first(), cel.bind({second}, __entry.__second(), {body}))"

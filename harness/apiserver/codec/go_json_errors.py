"""Why Go's JSON decoder refuses a text, in its own words.

Nesting ends where Python's decoders end, at about a thousand levels (Go's ends at ten thousand).
"""

import json
import re

TOO_DEEP = "exceeded max depth"
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_PLACES = {
    "Extra data": "after top-level value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
}


def error(body: bytes) -> str:
    """The decoder's message, "" when the text is JSON to Go."""
    text = body.decode(errors="replace")
    try:
        json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return TOO_DEEP
    except json.JSONDecodeError as found:
        return _describe(text, found)
    except ValueError as found:
        return f"invalid character '{str(found)[0]}' looking for beginning of value"
    return ""


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity, which Python takes


def _describe(text: str, found: json.JSONDecodeError) -> str:
    at = found.pos
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if at >= len(text) or found.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    character = {"'": "\\'", '"': '\\"'}.get(text[at], text[at])
    return f"invalid character '{character}' {_place(text[:at], found.msg)}"


def _place(before: str, message: str) -> str:
    if message != "Expecting ',' delimiter":
        return _PLACES.get(message, "looking for beginning of value")
    return "after array element" if _innermost(before) == "[" else "after object key:value pair"


def _innermost(text: str) -> str:
    """The bracket that is still open at the end of a text."""
    opened: list[str] = []
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        if bracket in "[{":
            opened.append(bracket)
        else:
            opened.pop()
    return opened[-1]

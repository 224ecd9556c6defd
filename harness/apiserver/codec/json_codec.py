"""The JSON encoder and decoder of the server, and what Go says of JSON that it cannot decode."""

import json
import re
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode(document: object) -> bytes:
    """Encode a document as compact JSON, in bytes of exact size."""
    return _encoder.encode(document)


def decode(data: bytes) -> Any:
    """Decode JSON. Raises msgspec.DecodeError or UnicodeDecodeError if it is malformed."""
    return _decoder.decode(data)


TOO_DEEP = "exceeded max depth"
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_PLACES = {
    "Extra data": "after top-level value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
}


def error(body: bytes) -> str:
    """Return the error message of Go's decoder for a body, "" if the body is valid JSON."""
    text = body.decode(errors="replace")
    try:
        json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return TOO_DEEP
    except json.JSONDecodeError as failure:
        return _describe(text, failure)
    except ValueError as failure:
        return f"invalid character '{str(failure)[0]}' looking for beginning of value"
    return ""


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity, which Python's decoder accepts


def _describe(text: str, failure: json.JSONDecodeError) -> str:
    at = failure.pos
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if at >= len(text) or failure.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    character = {"'": "\\'", '"': '\\"'}.get(text[at], text[at])
    return f"invalid character '{character}' {_place(text[:at], failure.msg)}"


def _place(before: str, message: str) -> str:
    if message != "Expecting ',' delimiter":
        return _PLACES.get(message, "looking for beginning of value")
    return "after array element" if _innermost(before) == "[" else "after object key:value pair"


def _innermost(text: str) -> str:
    """Return the innermost bracket that is still open at the end of a text."""
    opened: list[str] = []
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        if bracket in "[{":
            opened.append(bracket)
        else:
            opened.pop()
    return opened[-1]

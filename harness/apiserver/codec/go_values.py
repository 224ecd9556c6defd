"""Values as Go prints them in error messages: strings and decoded JSON.

Kubernetes prints its internal structs, with the names of Go's fields; here the API's names appear.
"""

import re
from typing import Any

from harness.apiserver.codec import json_codec

_GO_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_JSON_ESCAPES = re.compile("[<>&\u2028\u2029]")


def quoted(text: str) -> str:
    """Format a string like Go's `%q`."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_GO_ESCAPES.get(letter) or _escaped(letter) for letter in text) + '"'


def plain(value: Any) -> str:
    """Format a value like `%v`: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain, value))}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else json_codec.encode(value).decode()


def shown(value: object) -> str:
    """Format the bad value of an error message."""
    match value:
        case str():
            return quoted(value)
        case bool():
            return "true" if value else "false"
        case _:
            return json(value)


def json(value: object) -> str:
    """Encode JSON as Go does: without spaces, with `<`, `>` and `&` escaped."""
    text = json_codec.encode(value).decode()
    return _JSON_ESCAPES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escaped(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

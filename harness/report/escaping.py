"""Makes control characters visible: the names in evidence are anyone's, and a terminal obeys what is in them."""

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""All but newline and tab: C0, DEL, C1, what turns the direction of text, and halves of pairs, which cannot be encoded."""


def visible(text: str) -> str:
    """Write `\\x1b` for an escape character, and so on."""
    return _OBEYED.sub(lambda match: _named(ord(match[0])), text)


def _named(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"

"""Escapes control characters: names in evidence are untrusted, and terminals obey them."""

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 (except newline and tab), DEL, C1, bidirectional controls, and surrogates (not encodable)."""


def visible(text: str) -> str:
    """Replace control characters by escapes such as `\\x1b`."""
    return _OBEYED.sub(lambda match: _named(ord(match[0])), text)


def _named(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"

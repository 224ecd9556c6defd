"""Escapes text for the place where it is shown: names in evidence are untrusted.

HTML and SVG are escaped where they are written, by Jinja and `drawing`.
"""

import re

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""C0 (except newline and tab), DEL, C1, bidirectional controls, surrogates (not encodable), and
what XML cannot contain."""
_MARKDOWN = re.compile(r"[\\`*_\[\]<>#|~$]|^[-+]|^\d+(?=[.)] )")
_LINKED = {"@": "&#64;", "://": "&#58;//"}
"""Texts that GitHub turns into mentions and links without any markup."""


def visible(text: str) -> str:
    """Replace control characters by escapes such as `\\x1b`."""
    return _OBEYED.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def shortened(text: str, most: int) -> str:
    """Return the text, or its beginning if it has more characters than `most`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def in_json(document: str) -> str:
    """Replace control characters within the strings of a JSON document by JSON's own escapes."""
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", document)


def in_markdown(text: str) -> str:
    """Return a text as plain text on one line of Markdown, also within a table.

    GitHub makes no mention (`@name`), link (`#1`), list or HTML of it.
    """
    line = " ".join(visible(text).split()).replace("&", "&amp;")
    line = _MARKDOWN.sub(_backslashed, line)
    for given, harmless in _LINKED.items():
        line = line.replace(given, harmless)
    return line


def _backslashed(match: re.Match[str]) -> str:
    """Return the characters escaped; a number at the beginning would begin a list."""
    found = match[0]
    return f"&#{ord(found[0])};{found[1:]}" if found[0].isdigit() else f"\\{found}"

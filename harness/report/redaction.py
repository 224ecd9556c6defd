"""Removes secrets and folders from texts that leave the machine: in packs and in issues."""

import pathlib
import re

_HIDDEN = "(removed)"
_SECRETS = (
    re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL),
    re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"),
    re.compile(r"(?i)(?<=bearer )\s*[^\s\"',]+"),
    re.compile(
        r"(?i)(?<![\w-])(?:[\w-]*token|client-key-data|client-certificate-data|"
        r"certificate-authority-data|password|authorization)\"?\s*[:=]\s*(?!\s|bearer\b)\"?[^\s\"',]+"
    ),
    re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/]{64,}={0,2}(?![\w+/=-])"),
)
"""PEM blocks, JSON web tokens, Authorization headers, keys of kubeconfigs, long base64."""
_PATH = re.compile(r"(?<![\w.:/~$}-])(?:~|[A-Za-z]:)?(?:/[\w.@%+,=-]+){2,}/?|file://\S+")
"""Absolute paths of at least two names, also below `~`."""
_API = re.compile(r"/(?:apis?|openapi|healthz|readyz|livez|version|flake-hunt)/")
"""Beginnings of request paths, which stay."""


def clean(text: str) -> str:
    """Return a text without secrets; absolute paths keep their last name only."""
    for pattern in _SECRETS:
        text = pattern.sub(_HIDDEN, text)
    return _PATH.sub(lambda match: _shortened(match[0]), text)


def program(word: str) -> str:
    """Return a word of a command line without secrets; a path is reduced to its last name."""
    start, equals, rest = word.partition("=")
    option, value = (start + equals, rest) if equals else ("", word)
    path = pathlib.PurePath(value)
    return f"{option}{path.name}" if path.is_absolute() else clean(word)


def _shortened(path: str) -> str:
    if _API.match(path):
        return path
    return f"…/{path.rstrip('/').rpartition('/')[2]}"

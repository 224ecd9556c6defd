"""Removes what must not leave the machine: tokens, keys, and paths of its folders."""

import pathlib
import re

HIDDEN = "(removed)"
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
PATH = re.compile(r"(?<![\w.:/~$}-])(?:~|[A-Za-z]:)?(?:/[\w.@%+,=-]+){2,}/?|file://\S+")
"""Absolute paths of at least two names, also below `~`."""
API = re.compile(r"/(?:apis?|openapi|healthz|readyz|livez|version|flake-hunt)/")
"""Beginnings of request paths, which stay."""


def without_secrets(text: str) -> str:
    """Return a text without tokens, keys and passwords."""
    for pattern in _SECRETS:
        text = pattern.sub(HIDDEN, text)
    return text


def clean(text: str) -> str:
    """Return a text without secrets; absolute paths keep their last name only."""
    text = without_secrets(text)
    return PATH.sub(lambda match: _shortened(match[0]), text)


def program(word: str) -> str:
    """Return a word of a command line without secrets; a path is reduced to its last name."""
    option, equals, value = word.partition("=")
    if pathlib.PurePath(value if equals else word).is_absolute():
        return (
            f"{option}{equals}{pathlib.PurePath(value).name}"
            if equals
            else pathlib.PurePath(word).name
        )
    return clean(word)


def _shortened(path: str) -> str:
    if API.match(path):
        return path
    return f"…/{path.rstrip('/').rpartition('/')[2]}"

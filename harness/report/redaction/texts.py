"""Removes what must not leave the machine from texts: secrets, folders, addresses, and names."""

import pathlib
import re

from harness.report.redaction import names

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
_ADDRESS = re.compile(r"(?<![\w.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_API = re.compile(r"/(?:apis?|openapi|healthz|readyz|livez|version|flake-hunt)/")
"""Beginnings of request paths, which stay."""
_KNOWN_MAX = 200_000
"""Texts whose replacement is remembered."""


def without_secrets(text: str) -> str:
    """Return a text without tokens, keys and passwords."""
    for pattern in _SECRETS:
        text = pattern.sub(_HIDDEN, text)
    return text


def clean(text: str) -> str:
    """Return a text without secrets; absolute paths keep their last name only."""
    text = without_secrets(text)
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


class Texts:
    """Replaces names, folders and addresses in texts, the same by the same."""

    def __init__(self, found: names.Names) -> None:
        self._names = found
        self._folders, self._addresses = names.Numbers(), names.Numbers("-")
        self._known: dict[str, str] = {}

    def of(self, text: str) -> str:
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            found = self._known[text] = self._names.within(self.paths(self._addressless(text)))
        return found

    def line(self, text: str) -> str:
        """Return a line of a log; secrets go, too."""
        return self._names.within(self.paths(self._addressless(without_secrets(text))))

    def paths(self, text: str) -> str:
        """Return a text in which a folder stands for each path's; the last name stays."""
        return _PATH.sub(self._path, text) if "/" in text else text

    def _path(self, found: re.Match[str]) -> str:
        path = found[0]
        if _API.match(path):
            return path
        folder, _, last = path.rstrip("/").rpartition("/")
        return f"/{self._folders.of('folder', folder)}/{last}"

    def _addressless(self, text: str) -> str:
        if text.count(".") <= 2:
            return text
        return _ADDRESS.sub(lambda found: self._addresses.of("address", found[0]), text)

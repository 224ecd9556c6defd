"""Replaces names in texts for people: logs, messages, commands. Paths and addresses go, too."""

import re

from harness.packing.redaction import names
from harness.reproduction.issue import redaction

_ADDRESS = re.compile(r"(?<![\w.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_KNOWN_MAX = 200_000
"""Texts whose replacement is remembered."""


class Texts:
    """Replaces names, folders and addresses in texts, the same by the same."""

    def __init__(self, found: names.Names) -> None:
        self._names = found
        self._folders: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def of(self, text: str) -> str:
        """Return a text without names, folders and addresses."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            found = self._known[text] = self._names.within(self.paths(self._addressless(text)))
        return found

    def line(self, text: str) -> str:
        """Return a line of a log; secrets go, too."""
        return self._names.within(self.paths(self._addressless(redaction.without_secrets(text))))

    def paths(self, text: str) -> str:
        """Return a text in which a folder stands for each path's; the last name stays."""
        return redaction.PATH.sub(self._path, text) if "/" in text else text

    def _path(self, found: re.Match[str]) -> str:
        path = found[0]
        if redaction.API.match(path):
            return path
        folder, _, last = path.rstrip("/").rpartition("/")
        number = self._folders.setdefault(folder, f"folder{len(self._folders) + 1}")
        return f"/{number}/{last}"

    def _addressless(self, text: str) -> str:
        return _ADDRESS.sub(self._address, text) if text.count(".") > 2 else text

    def _address(self, found: re.Match[str]) -> str:
        return self._addresses.setdefault(found[0], f"address-{len(self._addresses) + 1}")

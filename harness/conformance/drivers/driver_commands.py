"""Command lines of drivers, with placeholders for what a test gives."""

import dataclasses
from collections.abc import Mapping, Sequence

from harness import errors, placeholders

PREFIX = "command="
_OF = "the driver's"
PLACEHOLDERS = (
    "kubeconfig",
    "node",
    "driver",
    "kubelet_dir",
    "plugins_dir",
    "registry_dir",
    "cdi_dir",
    "state_dir",
    "instance",
)
"""`instance` is the uid of one instance of a rolling update; it differs between them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line with placeholders."""

    words: Sequence[str]

    @property
    def has_instances(self) -> bool:
        """True if two instances can run side by side."""
        return any("instance" in placeholders.names(text, of=_OF) for text in self.words)

    def filled(self, values: Mapping[str, str]) -> "Command":
        """Return it without placeholders; values that it does not name are not used."""
        return Command(words=[word.format_map(values) for word in self.words])


def parse(text: str) -> Command:
    """Return the command of `[command=]PROGRAM ARGUMENTS`.

    Raises UsageError for another text, and for an unknown placeholder.
    """
    words = placeholders.words(text.removeprefix(PREFIX))
    if not words:
        raise errors.UsageError("expected a program to test, got nothing")
    for word in words:
        placeholders.require_known(word, PLACEHOLDERS, of=_OF)
    return Command(words=words)

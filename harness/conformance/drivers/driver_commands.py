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
    """A command line with placeholders, and variables of its environment."""

    words: Sequence[str]
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def has_instances(self) -> bool:
        """True if two instances can run side by side."""
        texts = (*self.words, *self.environment.values())
        return any("instance" in placeholders.names(text, of=_OF) for text in texts)

    def filled(self, values: Mapping[str, str]) -> "Command":
        """Return it without placeholders; values that it does not name are not used."""
        return Command(
            words=[word.format_map(values) for word in self.words],
            environment={k: text.format_map(values) for k, text in self.environment.items()},
        )


def parse(text: str, environment: Sequence[str] = ()) -> Command:
    """Return the command of `[command=]PROGRAM ARGUMENTS` and of variables `NAME=VALUE`.

    Raises UsageError for another text, an unknown placeholder, and a variable without a value.
    """
    words = placeholders.words(text.removeprefix(PREFIX))
    if not words:
        raise errors.UsageError("expected a program for --driver, got nothing")
    variables = dict(_variable(item) for item in environment)
    for word in (*words, *variables.values()):
        placeholders.require_known(word, PLACEHOLDERS, of=_OF)
    return Command(words=words, environment=variables)


def _variable(text: str) -> tuple[str, str]:
    name, is_set, value = text.partition("=")
    if not (name and is_set):
        raise errors.UsageError(f"expected --env NAME=VALUE, got {text!r}")
    return name, value

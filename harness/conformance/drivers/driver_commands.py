"""Command lines of drivers: `command=PROGRAM ARGUMENTS` with placeholders for what a test gives."""

import dataclasses
import shlex
import string
from collections.abc import Mapping, Sequence

from harness import errors

PREFIX = "command="
PLACEHOLDERS = (
    "kubeconfig",
    "node",
    "driver",
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
        return any("instance" in _names(text) for text in texts)

    def filled(self, values: Mapping[str, str]) -> "Command":
        """Return it without placeholders; values that it does not name are not used."""
        return Command(
            words=[word.format_map(values) for word in self.words],
            environment={k: text.format_map(values) for k, text in self.environment.items()},
        )


def parse(text: str, environment: Sequence[str] = ()) -> Command:
    """Return the command of `command=PROGRAM ARGUMENTS` and of variables `NAME=VALUE`.

    Raises UsageError for another text, an unknown placeholder, and a variable without a value.
    """
    if not text.startswith(PREFIX):
        raise errors.UsageError(f"expected --driver 'command=PROGRAM ARGUMENTS', got {text!r}")
    try:
        words = shlex.split(text.removeprefix(PREFIX))
    except ValueError as error:
        raise errors.UsageError(f"expected balanced quotes in {text!r}: {error}") from error
    if not words:
        raise errors.UsageError(f"expected a program after {PREFIX}, got nothing")
    variables = dict(_variable(item) for item in environment)
    for word in (*words, *variables.values()):
        _check(word)
    return Command(words=words, environment=variables)


def _variable(text: str) -> tuple[str, str]:
    name, is_set, value = text.partition("=")
    if not (name and is_set):
        raise errors.UsageError(f"expected --env NAME=VALUE, got {text!r}")
    return name, value


def _check(word: str) -> None:
    try:
        names = _names(word)
    except ValueError as error:
        raise errors.UsageError(
            f"expected braces around a placeholder of the driver's command, got {word!r} "
            f"({error}); write {{{{ for a brace"
        ) from error
    for name in names:
        if name not in PLACEHOLDERS:
            known = " ".join(f"{{{item}}}" for item in PLACEHOLDERS)
            raise errors.UsageError(
                f"expected a placeholder of the driver's command, got {{{name}}} in {word!r}. "
                f"Known: {known}"
            )


def _names(word: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(word) if name is not None]

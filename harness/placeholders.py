"""Placeholders in the words of commands that users give: `{kubeconfig}`."""

import shlex
import string
from collections.abc import Collection

from harness import errors


def words(text: str) -> list[str]:
    """Return the words of a command line in shell syntax. Raises UsageError if it is none."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise errors.UsageError(
            f"expected a command line in shell syntax, got {text!r} ({error})"
        ) from error


def names(word: str, *, of: str) -> list[str]:
    """Return the placeholders in a word. Raises UsageError for unbalanced braces.

    `of` says whose command it is: `the driver's`.
    """
    try:
        return [name for _, name, _, _ in string.Formatter().parse(word) if name is not None]
    except ValueError as error:
        raise errors.UsageError(
            f"expected braces around a placeholder in {of} command, got {word!r} "
            f"({error}); write {{{{ for a brace"
        ) from error


def command(text: str, known: Collection[str], *, of: str) -> list[str]:
    """Return the words of a command with known placeholders. Raises UsageError for another text."""
    found = words(text)
    if not found:
        raise errors.UsageError(f"expected a program as {of} command, got nothing")
    for word in found:
        require_known(word, known, of=of)
    return found


def require_known(word: str, known: Collection[str], *, of: str) -> None:
    """Raise UsageError for unbalanced braces, or a placeholder in a word that is not known."""
    for name in names(word, of=of):
        if name not in known:
            shown = " ".join(f"{{{item}}}" for item in known)
            raise errors.UsageError(
                f"expected a placeholder of {of} command, got {{{name}}} in {word!r}. "
                f"Known: {shown}"
            )

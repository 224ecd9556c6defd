"""The impersonation headers of a kubeconfig's user.

They come from its keys `as`, `as-uid`, `as-groups` and `as-user-extra`.
"""

import pathlib
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from harness import errors

Headers = tuple[tuple[str, str], ...]
"""(name, value) pairs. Names may repeat: each group has its own header."""
_TOKEN = "!#$&'*+-.^_`|~"  # noqa: S105 - the characters that header names may have besides letters and digits
_KEYS = ("as", "as-uid", "as-groups", "as-user-extra")


def read(user: Mapping[str, Any], path: pathlib.Path) -> Headers:
    """Return the headers for a kubeconfig's user, none if it does not impersonate.

    Raises KubeconfigError if a value cannot be sent in a header.
    """
    given = [key for key in _KEYS if user.get(key)]
    if given and "as" not in given:
        raise errors.KubeconfigError(
            f"{path}: expected `as` with {' and '.join(given)}, got no user to impersonate: add `as`"
        )
    try:
        headers = tuple(_headers(user))
    except (TypeError, AttributeError) as error:
        raise errors.KubeconfigError(
            f"{path}: expected `as` and `as-uid` as text, `as-groups` as a list, and `as-user-extra` as lists by key ({error})"
        ) from error
    for name, value in headers:
        if not value.isprintable():
            raise errors.KubeconfigError(
                f"{path}: expected printable text to impersonate, got {value!r} for {name}"
            )
    return headers


def _headers(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if name := user.get("as"):
        yield "Impersonate-User", _text(name)
    if uid := user.get("as-uid"):
        yield "Impersonate-Uid", _text(uid)
    for group in _texts(user.get("as-groups")):
        yield "Impersonate-Group", group
    for key, values in (user.get("as-user-extra") or {}).items():
        for value in _texts(values):
            yield f"Impersonate-Extra-{urllib.parse.quote(_text(key), safe=_TOKEN)}", value


def _texts(values: object) -> list[str]:
    if values is None:
        return []
    if not isinstance(values, list):
        raise TypeError(f"got {values!r}")
    return [_text(value) for value in values]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"got {value!r}")
    return value

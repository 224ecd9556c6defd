"""Names of objects: generated names, and the rules for valid names.

After k8s.io/apiserver/pkg/storage/names and k8s.io/apimachinery/pkg/util/validation.
"""

import random
import re
from collections.abc import Callable
from typing import Any

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_GENERATED_BASE_MAX = 58
"""Maximum length of the base of a generated name; longer ones are cut, in characters."""
_GENERATE_TRIES_MAX = 8
NAME_MAX = 253
"""Maximum length of an RFC 1123 subdomain, in characters."""
_LABEL = re.compile(r"[a-z0-9]++(?:-++[a-z0-9]++)*+")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(?:\.{_LABEL.pattern})*+")
"""Equivalent to the patterns that the messages quote, but without backtracking: linear time."""
LABEL_MAX = 63
"""Maximum length of an RFC 1123 label, in characters."""

SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    r"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def complete(
    meta: dict[str, Any], stream: random.Random, *, is_taken: Callable[[str], bool]
) -> None:
    """Set `name` from `generateName`, in place, if the object has no name.

    Tries _GENERATE_TRIES_MAX names; if all are taken, the last one is kept.
    """
    base = meta.get("generateName")
    if meta.get("name") or not base:
        return
    for _ in range(_GENERATE_TRIES_MAX):
        meta["name"] = generate(base, stream)
        if not is_taken(meta["name"]):
            return


def generate(base: str, stream: random.Random) -> str:
    """Return a name from `generateName`: the base, cut to 58 characters, and 5 random ones."""
    suffix = "".join(stream.choices(_ALPHABET, k=_SUFFIX_LENGTH))
    return base[:_GENERATED_BASE_MAX] + suffix


def subdomain_problems(name: str) -> list[str]:
    """Return the reasons why a name is not a valid RFC 1123 subdomain."""
    problems = []
    if len(name) > NAME_MAX:
        problems.append(f"must be no more than {NAME_MAX} characters")
    if not _SUBDOMAIN.fullmatch(name):
        problems.append(SUBDOMAIN_RULE)
    return problems


def label_problems(name: str) -> list[str]:
    """Return the reasons why a name is not a valid RFC 1123 label."""
    problems = []
    if len(name) > LABEL_MAX:
        problems.append(f"must be no more than {LABEL_MAX} characters")
    if _LABEL.fullmatch(name):
        return problems
    return [*problems, "must not contain dots" if _SUBDOMAIN.fullmatch(name) else LABEL_RULE]


def path_segment_problems(name: str) -> list[str]:
    """Return the reasons why a name is not a valid segment of a URL's path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{letter}'" for letter in "/%" if letter in name]


def unfinished(prefix: str) -> str:
    """Return a name prefix in the form that is validated: its trailing dash is masked.

    `maskTrailingDash` in k8s.io/apimachinery/pkg/api/validation/generic.go.
    """
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix

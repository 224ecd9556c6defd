"""Names that the server makes up, and what a name may look like."""

import random
import re
from collections.abc import Callable
from typing import Any

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_GENERATED_BASE_MAX = 58
_GENERATE_TRIES_MAX = 8
NAME_MAX = 253
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_MAX = 63

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
    """Generate the name of a new object that asks for one, in place; not one that is taken, if that can be."""
    base = meta.get("generateName")
    if meta.get("name") or not base:
        return
    for _ in range(_GENERATE_TRIES_MAX):
        meta["name"] = generate(base, stream)
        if not is_taken(meta["name"]):
            return


def generate(base: str, stream: random.Random) -> str:
    """A name from metadata.generateName: the base, cut to 58, and five characters."""
    suffix = "".join(stream.choices(_ALPHABET, k=_SUFFIX_LENGTH))
    return base[:_GENERATED_BASE_MAX] + suffix


def subdomain_problems(name: str) -> list[str]:
    """What keeps a name from being an RFC 1123 subdomain; empty when nothing does."""
    problems = []
    if len(name) > NAME_MAX:
        problems.append(f"must be no more than {NAME_MAX} characters")
    if not _SUBDOMAIN.fullmatch(name):
        problems.append(SUBDOMAIN_RULE)
    return problems


def label_problems(name: str) -> list[str]:
    """What keeps a name from being an RFC 1123 label; empty when nothing does."""
    problems = []
    if len(name) > LABEL_MAX:
        problems.append(f"must be no more than {LABEL_MAX} characters")
    if _LABEL.fullmatch(name):
        return problems
    return [*problems, "must not contain dots" if _SUBDOMAIN.fullmatch(name) else LABEL_RULE]


def path_segment_problems(name: str) -> list[str]:
    """What keeps a name from being a part of a URL's path; empty when nothing does."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{letter}'" for letter in "/%" if letter in name]


def unfinished(prefix: str) -> str:
    """A prefix as it is judged before characters are appended: its trailing dash does not count."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix

"""Semantic versions (semver.org, 2.0.0) as values of CEL: maps, equal if the versions are."""

import re
from collections.abc import Mapping

KEY = "version"
"""The only key of the map that stands for a version."""
_NUMBER = r"0|[1-9][0-9]*"
_WORD = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_FORM = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_WORD}(?:\.{_WORD})*))?(?:\+[0-9a-zA-Z.-]+)?"
)
_LOOSE = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(.*)", re.DOTALL)


class VersionError(ValueError):
    """Text that is not a semantic version."""


def parse(text: str) -> dict[str, str]:
    """Return a version as a value of CEL, without its build metadata, which do not count.

    Raises VersionError if the text is not a semantic version.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise VersionError(f"expected a semantic version such as 1.2.3, got {text!r:.60}")
    return {KEY: text.partition("+")[0]}


def normalized(text: str) -> str:
    """Return a loose version such as `v1.2` in the strict form, `1.2.0`."""
    match = _LOOSE.fullmatch(text)
    if match is None:
        return text
    numbers = (str(int(part or "0")) for part in match.group(1, 2, 3))
    return ".".join(numbers) + match.group(4)


def numbers(version: Mapping[str, str]) -> tuple[int, int, int]:
    """Return major, minor and patch of a value of `parse`."""
    major, minor, patch = version[KEY].partition("-")[0].split(".")
    return int(major), int(minor), int(patch)


def compare(left: Mapping[str, str], right: Mapping[str, str]) -> int:
    """Return -1, 0 or 1 by the precedence of two values of `parse`."""
    one, two = _precedence(left), _precedence(right)
    return (one > two) - (one < two)


def _precedence(
    version: Mapping[str, str],
) -> tuple[tuple[int, int, int], bool, list[tuple[bool, int, str]]]:
    """Return a key to sort by: a pre-release comes before its release."""
    words = version[KEY].partition("-")[2]
    return numbers(version), not words, [_word(word) for word in words.split(".") if word]


def _word(text: str) -> tuple[bool, int, str]:
    """Return a key to sort by: numbers come before words, and compare as numbers."""
    return (False, int(text), "") if text.isdigit() else (True, 0, text)

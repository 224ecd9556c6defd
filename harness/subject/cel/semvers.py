"""Semantic versions, after the Go library github.com/blang/semver that Kubernetes uses."""

import dataclasses
import functools
import re
from typing import Any

_DIGITS = re.compile("[0-9]+")
_IDENTIFIER = re.compile("[0-9A-Za-z-]+")
_PARTS = ("major", "minor", "patch")
_NUMBER_MAX, _DIGITS_MAX = 2**64 - 1, 20


class VersionError(ValueError):
    """Text that is no version, in upstream's words."""


@dataclasses.dataclass(frozen=True, slots=True)
class Semver:
    """A version; build metadata takes part neither in equality nor in order."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()

    def order(self) -> tuple[Any, ...]:
        """Return a key that sorts as versions do: a release after its prereleases."""
        identifiers = tuple(
            (0, item, "") if isinstance(item, int) else (1, 0, item) for item in self.prerelease
        )
        return self.major, self.minor, self.patch, not self.prerelease, identifiers


@functools.lru_cache(4096)
def parse(text: str, normalize: bool = False) -> Semver:  # noqa: FBT001, FBT002
    """Return the version that a text says.

    With `normalize` a leading `v`, missing parts and leading zeros are allowed. Raises
    VersionError in upstream's words for a text that is not a version.
    """
    if normalize:
        text = _normalized(text)
    if not text:
        raise VersionError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != len(_PARTS):
        raise VersionError("No Major.Minor.Patch elements found")
    rest, _, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    numbers = [_number(*item) for item in zip(_PARTS, (*parts[:2], patch), strict=True)]
    if "+" in parts[2]:
        _require_identifiers("Build meta data", build)
    return Semver(numbers[0], numbers[1], numbers[2], _prerelease(prerelease) if dash else ())


def _normalized(text: str) -> str:
    text = text.removeprefix("v")
    parts = text.split(".", 2)
    # the last part may carry a prerelease or build metadata after its number
    shown = [part.lstrip("0") or "0" if _DIGITS.fullmatch(part) else part for part in parts]
    last = re.fullmatch("0+([0-9].*)", shown[-1], re.DOTALL)
    shown[-1] = last[1] if last else shown[-1]
    if len(shown) < len(_PARTS) and ("+" in shown[-1] or "-" in shown[-1]):
        raise VersionError("Short version cannot contain PreRelease/Build meta data")
    if not text:
        return text
    return ".".join([*shown, "0", "0"][: len(_PARTS)])


def _number(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise VersionError(f'Invalid character(s) found in {name} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise VersionError(f'{name.title()} number must not contain leading zeroes "{text}"')
    if len(text) > _DIGITS_MAX or int(text) > _NUMBER_MAX:
        raise VersionError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _prerelease(text: str) -> tuple[int | str, ...]:
    _require_identifiers("Prerelease", text)
    for part in text.split("."):
        if _DIGITS.fullmatch(part) and len(part) > 1 and part[0] == "0":
            raise VersionError(
                f'Numeric PreRelease version must not contain leading zeroes "{part}"'
            )
    return tuple(int(part) if _DIGITS.fullmatch(part) else part for part in text.split("."))


def _require_identifiers(what: str, text: str) -> None:
    for part in text.split("."):
        if not part:
            raise VersionError(f"{what} is empty")
        if not _IDENTIFIER.fullmatch(part):
            raise VersionError(f'Invalid character(s) found in {what.lower()} "{part}"')

"""Which judges made a verdict: the version of Flake Hunt, and a digest of their source."""

import functools
import hashlib
import pathlib
from importlib import metadata

import msgspec

_HARNESS = pathlib.Path(__file__).parents[1]
_SOURCES = ("checks", "extensions", "history")
"""Packages whose code decides about a verdict."""


class Judges(msgspec.Struct, frozen=True, kw_only=True):
    """The judges of a verdict; two verdicts by judges of one digest can be compared."""

    version: str
    """Version of Flake Hunt; empty if it is not installed."""
    digest: str
    """`sha256:<hex>` of the source of the checks and of what reads the evidence."""


@functools.cache
def present() -> Judges:
    """Return the judges of this process."""
    try:
        version = metadata.version("flake-hunt")
    except metadata.PackageNotFoundError:
        version = ""
    return Judges(version=version, digest=_digest(_HARNESS))


def _digest(harness: pathlib.Path) -> str:
    """Return the digest of names and contents, in the order of the names."""
    whole = hashlib.sha256()
    for package in _SOURCES:
        for path in sorted((harness / package).rglob("*.py")):
            whole.update(f"{path.relative_to(harness).as_posix()}\0".encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return f"sha256:{whole.hexdigest()}"

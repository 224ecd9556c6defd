"""Real programs of Kubernetes, from where `--cluster local` finds them.

Tests that want them run where they are, and skip elsewhere with the reason.
"""

import functools
import os
import pathlib
import shutil

import pytest

from harness import errors
from harness.cluster.local import binaries


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test where one of these programs is missing."""
    reasons = [reason for name in names if (reason := missing(name))]
    return pytest.mark.skipif(bool(reasons), reason=reasons[0] if reasons else "")


@functools.cache
def missing(name: str) -> str:
    """Why a program cannot be used; empty if it can."""
    try:
        binaries.version(binaries.find(name))
    except errors.UsageError as error:
        return str(error)
    return ""


def find(name: str) -> pathlib.Path | None:
    return None if missing(name) else binaries.find(name)


def versions(name: str) -> list[str]:
    """Return the versions of a program that the folder KUBE_BINARIES holds, oldest first."""
    folder = pathlib.Path(os.environ.get(binaries.BINARIES_VARIABLE, "/nowhere"))
    found = (path.name.removeprefix(f"{name}-") for path in folder.glob(f"{name}-*"))
    return sorted(found, key=lambda text: [int(part) for part in text.split(".")])


def go() -> str | None:
    return shutil.which(os.environ.get("FLAKE_HUNT_GO") or "go")

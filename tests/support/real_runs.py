"""Runs with real Kubernetes programs, recorded; `tests/histories/real_runs` has them."""

import pathlib

from harness.history import directories
from tests.support import archives

FOLDER = pathlib.Path(__file__).parents[1] / "histories" / "real_runs"


def names() -> list[str]:
    return sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))


def unpack(name: str, folder: pathlib.Path) -> directories.RunDirectory:
    """Unpack one run below `folder`."""
    archives.unpack(FOLDER / f"{name}.tar.xz", folder)
    return directories.RunDirectory(folder / name)

"""The releases in a folder of binaries."""

import hashlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from harness import errors
from harness.cluster.local import binaries

Program = Literal["kube-scheduler", "kube-controller-manager", "kube-apiserver"]
SCHEDULER: Program = "kube-scheduler"
CONTROLLER: Program = "kube-controller-manager"
API_SERVER: Program = "kube-apiserver"
PLAYED: tuple[Program, ...] = (SCHEDULER, CONTROLLER)
"""Programs that a run starts as its subject; an API server is part of the cluster."""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """One program of one release."""

    program: Program
    version: str
    """As in the file's name, such as `1.36.3`."""
    path: str
    digest: str
    """`sha256:<hex>` of the file."""

    @property
    def name(self) -> str:
        """Program and version, as `kube-scheduler 1.36.3`."""
        return f"{self.program} {self.version}"

    @property
    def order(self) -> tuple[int, ...]:
        """The version as numbers."""
        return tuple(map(int, self.version.split(".")))


def found(folder: pathlib.Path, versions: Sequence[str] = ()) -> list[Release]:
    """Return the releases in a folder, oldest first; only those of `versions`, if there are some.

    `1.36` chooses all of 1.36. Raises UsageError if there is none to play, and for a file that is
    not what its name says.
    """
    there = [item for name in (*PLAYED, API_SERVER) for item in _named(folder, name)]
    chosen = [item for item in there if not versions or _is_one_of(item[1], versions)]
    if not any(name in PLAYED for name, _, _ in chosen):
        raise _nothing(folder, versions, [path.name for _, _, path in there])
    return sorted((_release(*item) for item in chosen), key=lambda item: item.order)


def _named(folder: pathlib.Path, name: Program) -> Iterator[tuple[Program, str, pathlib.Path]]:
    """Yield program, version and path of each file NAME-VERSION."""
    for path in sorted(folder.glob(f"{name}-*")):
        if path.is_file() and binaries.plain_name(path) == name:
            yield name, path.name.removeprefix(f"{name}-").removeprefix("v"), path


def _is_one_of(version: str, wanted: Sequence[str]) -> bool:
    return any(f"{version}.".startswith(f"{item.removeprefix('v')}.") for item in wanted)


def _release(program: Program, version: str, path: pathlib.Path) -> Release:
    said = binaries.version(path)
    if not _is_one_of(said.removeprefix("v"), [version]):
        raise errors.UsageError(
            f"expected {path} to be {program} {version}, as its name says, but it says that it is "
            f"{said}: rename it"
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Release(
        program=program, version=version, path=str(path.resolve()), digest=f"sha256:{digest}"
    )


def _nothing(
    folder: pathlib.Path, versions: Sequence[str], there: Sequence[str]
) -> errors.UsageError:
    names = " or ".join(f"{name}-VERSION" for name in PLAYED)
    of = f" of {', '.join(versions)}" if versions else ""
    return errors.UsageError(
        f"expected files {names}{of} in {folder}, such as {SCHEDULER}-1.36.3, got "
        f"{', '.join(there) or 'none'}: rename the binaries so, name their folder with --binaries, or "
        "choose other releases with --release"
    )

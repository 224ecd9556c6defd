"""The folders of a driver that is tested: short, because a socket's path has at most 107 bytes."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from harness import writing
from harness.conformance import results

_PREFIX = "fh-"
"""With it, paths are as long as those below /var/lib/kubelet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one run."""

    root: pathlib.Path
    cdi_of_node: pathlib.Path | None = None
    """The CDI folder of a driver that does not take one; None: one below the root."""
    registry_of_node: pathlib.Path | None = None
    """The registry of a driver that runs already, or its socket there."""
    socket: pathlib.Path | None = None
    """The socket to call of such a driver; None: the one that it names."""

    @property
    def plugins(self) -> pathlib.Path:
        """The folder for the sockets that are called."""
        return self.root / "plugins"

    @property
    def registry(self) -> pathlib.Path:
        """The folder for the sockets that register."""
        return self.registry_of_node or self.root / "plugins_registry"

    @property
    def cdi(self) -> pathlib.Path:
        return self.cdi_of_node or self.root / "c"

    @property
    def state(self) -> pathlib.Path:
        """The folder for what the driver keeps over a restart."""
        return self.root / "s"

    @property
    def boot_id(self) -> pathlib.Path:
        """The file with the node's boot id."""
        return self.root / "boot_id"

    @property
    def log(self) -> pathlib.Path:
        """The file with what the driver prints."""
        return self.root / "driver.log"

    def make(self) -> None:
        for path in (self.plugins, self.registry, self.state, self.cdi):
            path.mkdir(exist_ok=True, parents=True)

    def keep_log(self, file: pathlib.Path) -> None:
        """Add what the driver has printed to a file. Raises UnwritableError if it cannot be."""
        with writing.explained(file), file.open("ab") as kept:
            kept.write(self.log.read_bytes() if self.log.exists() else b"")

    def empty_cdi(self) -> None:
        """Remove the CDI files, as a reboot does; does nothing to a folder of the node."""
        if self.cdi_of_node is None:
            _empty(self.cdi)

    @contextlib.contextmanager
    def without_cdi(self) -> Iterator[None]:
        """Have a file in the place of the CDI folder. Raises Skipped for a folder of the node."""
        if self.cdi_of_node is not None:
            raise results.Skipped("the CDI folder is the node's own, and is not taken away")
        away = self.cdi.rename(self.root / "away")
        self.cdi.touch()
        try:
            yield
        finally:
            _remove(self.cdi)  # whatever the driver has made of it
            away.rename(self.cdi)

    def empty(self) -> None:
        """Remove everything that a driver has left, for a start from nothing."""
        for path in (self.plugins, self.registry, self.state):
            _empty(path)
        self.empty_cdi()

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


def make(cdi_of_node: pathlib.Path | None = None) -> Folders:
    """Return new folders with short names."""
    folders = Folders(pathlib.Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_short())), cdi_of_node)
    folders.make()
    return folders


def _short() -> str | None:
    """Return a folder for temporary files with a short name, None for the default one."""
    usual = tempfile.gettempdir()
    return "/tmp" if len(usual) > 4 and os.access("/tmp", os.W_OK) else None  # noqa: S108


def _empty(folder: pathlib.Path) -> None:
    for path in folder.iterdir():
        _remove(path)


def _remove(path: pathlib.Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
